// The script of a plan's page on a stand-in for a browser: plan_page.js PAGE.html FROM TO prints what it shows when it is zoomed to
// the times FROM to TO, and what it answers to a click on the largest value that is no workspace; without times, all its answers as JSON. A browser
// runs the whole page in plan-page.test.
"use strict";
const page = require("fs").readFileSync(process.argv[2], "utf8");
const [from, to] = process.argv.slice(3).map(Number);

function element(name) {
  const children = [];
  return {name, children, attributes: {}, style: {}, dataset: {}, clientWidth: 1000, clientHeight: 400, checked: true, value: "layer",
    append: (...more) => children.push(...more), replaceChildren: (...more) => children.splice(0, children.length, ...more),
    setAttribute(key, value) { this.attributes[key] = value; }, addEventListener() {}, getBoundingClientRect: () => ({left: 0, top: 0}),
    getContext: () => new Proxy({}, {get: () => () => {}, set: () => true})};
}

const known = {plan: {textContent: page.match(/<script[^>]*id="plan"[^>]*>([^]*?)<\/script>/)[1]}};
function byId(id) {
  return known[id] ||= Object.assign(element(id), {tHead: element("thead"), tBodies: [element("tbody")]});
}
Object.assign(globalThis, {
  document: {getElementById: byId, createElement: element, createElementNS: (space, name) => element(name), documentElement: element("html")},
  getComputedStyle: () => ({getPropertyValue: () => "#000"}), devicePixelRatio: 1, innerWidth: 1000, innerHeight: 800,
  addEventListener() {}, matchMedia: () => ({addEventListener() {}})});

eval([...page.matchAll(/<script>([^]*?)<\/script>/g)].map((script) => script[1]).join("\n")
  + (from === undefined ? "\nconsole.log(JSON.stringify(everyAnswer()));" : "\nsetWindow(from, to);"));
if (from === undefined) return;
const parts = byId("timeline").children;
const [group] = parts.filter((part) => part.name === "g");
console.log("drawn:", document.documentElement.dataset.rendered);
console.log("launches:", ...parts.filter((part) => part.attributes.class === "launch").map((tick) => tick.textContent));
console.log("bytes:", ...parts.filter((part) => part.attributes["text-anchor"] === "end").map((tick) => tick.textContent));
console.log("clipped:", group.attributes["clip-path"], group.children.length, "parts");
const rows = byId("values").tBodies[0].children;
const largest = rows.find((row) => !row.children[0].textContent.startsWith("workspace"));
if (largest) largest.onclick();
console.log("asked:", byId("why-hint").textContent);
for (const row of byId("why").tBodies[0].children) console.log("answer:", ...row.children.map((cell) => cell.textContent));
for (const row of byId("values").tBodies[0].children.slice(0, 3)) console.log("value:", ...row.children.map((cell) => cell.textContent));
