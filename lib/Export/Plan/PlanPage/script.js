const plan = JSON.parse(document.getElementById("plan").textContent);
const text = (index) => plan.strings[index];
const el = (id) => document.getElementById(id);
const phases = ["forward", "backward", "update", "recomputation", "copy between host memory and arena"];
const svgSpace = "http://www.w3.org/2000/svg";
const margin = {left: 78, right: 12, top: 8, bottom: 42};

function amount(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  return (unit === 0 ? bytes : bytes.toFixed(2)) + " " + units[unit];
}

// Of a tick: "8 MiB", not "8.00 MiB".
const roundAmount = (bytes) => amount(bytes).replace(".00 ", " ").replace(/(\.\d)0 /, "$1 ");

const colourOf = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

// Ranges come as lists: name, type, layer, share (indices of strings), bytes, offset, first, last.
const asRange = (r) => ({name: text(r[0]), type: text(r[1]), layer: text(r[2]), group: text(r[3]), share: text(r[4]),
  bytes: r[5], offset: r[6], first: r[7], last: r[8]});

function prepare(f) {
  const ranges = f.ranges.map(asRange);
  const times = f.launches.length + 2; // before, each launch, after
  const loads = Object.fromEntries(plan.shares.map((s) => [s, new Float64Array(times)]));
  for (const r of ranges) for (let t = r.first + 1; t <= r.last + 1; ++t) loads[r.share][t] += r.bytes;
  const total = new Float64Array(times);
  for (const s of plan.shares) loads[s].forEach((bytes, t) => { total[t] += bytes; });
  let peak = 0;
  total.forEach((bytes, t) => { if (bytes > total[peak]) peak = t; });
  return {name: f.name, launches: f.launches, ranges, times, loads, total, peak};
}

const states = plan.state.map(asRange);
const stateBytes = Object.fromEntries(plan.shares.map((s) => [s, 0]));
for (const r of states) stateBytes[r.share] += r.bytes;
const functions = plan.functions.map(prepare);
let fn = functions[plan.fullest], moment = fn.peak, window_ = [0, fn.times];
const shown = plan.shares.filter((s) => stateBytes[s] > 0 || functions.some((f) => f.loads[s].some((b) => b > 0)));
const groups = [...new Set([...states, ...functions.flatMap((f) => f.ranges)].map((r) => r.group))];
const layerColour = (group) => `hsl(${(groups.indexOf(group) * 137.5) % 360} 55% 55%)`;

function timeName(t) {
  if (t === 0) return "before the first launch";
  return t === fn.times - 1 ? "after the last launch" : `launch ${t - 1}`;
}

function launchText(t) {
  const launch = fn.launches[t - 1];
  if (!launch) return "";
  const layer = text(launch[1]), reason = text(launch[3]);
  return `${phases[launch[2]]}: ${text(launch[0])}${layer ? " of " + layer : ""}${reason ? " (" + reason + ")" : ""}`;
}

function showTip(event, content) {
  const tip = el("tip");
  tip.textContent = content;
  tip.hidden = false;
  tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
  tip.style.top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8) + "px";
}

// --- the tiles

function tiles() {
  const report = plan.report;
  const percent = (x) => (100 * x).toFixed(2) + " %";
  const height = plan.arena - plan.persistent, full = functions[plan.fullest];
  const list = [["peak", amount(report.peak_bytes)]];
  if (report.budget_bytes !== null) list.push(["budget", amount(report.budget_bytes), !report.fits]);
  list.push(["state, all the time", amount(plan.persistent)], ["transient at the peak", amount(height)]);
  if (report.unconstrained_peak_bytes !== report.peak_bytes)
    list.push(["unconstrained peak", amount(report.unconstrained_peak_bytes)]);
  if (report.host_bytes > 0) list.push(["host memory", amount(report.host_bytes)]);
  list.push(["added time", percent(report.recompute.overhead)]);
  if (report.recompute.ops > 0 && report.budget_bytes !== null) list.push(["proven least added time", percent(report.recompute.lower_bound)]);
  const load = full.total[full.peak];
  if (load > 0) list.push(["packing above the live bytes", percent((height - load) / load)]);
  for (const [name, value, bad] of list) {
    const tile = document.createElement("div");
    tile.className = bad ? "tile bad" : "tile";
    tile.append(Object.assign(document.createElement("b"), {textContent: value}),
                Object.assign(document.createElement("span"), {textContent: name}));
    el("tiles").append(tile);
  }
}

function legend() {
  el("legend").replaceChildren(...shown.map((share) => {
    const entry = document.createElement("span"), swatch = document.createElement("i");
    swatch.style.background = colourOf(share);
    entry.append(swatch, share.replace("_", " "));
    return entry;
  }));
}

// --- the timeline

function svg(name, attributes, content) {
  const node = document.createElementNS(svgSpace, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (content !== undefined) node.textContent = content;
  return node;
}

// A few round numbers of bytes.
function ticks(from, to) {
  const step = 2 ** Math.ceil(Math.log2(Math.max(1, (to - from) / 6))), list = [];
  for (let bytes = Math.ceil(from / step) * step; bytes <= to; bytes += step) list.push(bytes);
  return list;
}

// The smallest of 1, 2, 5, 10, 20, ... that is no less.
function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough * (1 - 1e-9));
}

// Round numbers of launches between two times; launch k runs at time k + 1.
function launchTicks(from, to) {
  const step = Math.max(1, roundStep((to - from) / 8)), list = [];
  for (let launch = Math.max(0, Math.ceil((from - 1) / step) * step); launch + 1 <= to && launch < fn.launches.length; launch += step)
    list.push(launch);
  return list;
}

// One column a time, or a column for several: the time of each column's largest load.
function columns(count) {
  const [from, to] = [Math.floor(window_[0]), Math.ceil(window_[1])], result = [];
  const wide = Math.max(1, (to - from) / count);
  for (let begin = from; begin < to; begin += wide) {
    let best = Math.floor(begin);
    for (let t = best; t < Math.min(to, begin + wide); ++t) if (fn.total[t] > fn.total[best]) best = t;
    result.push({begin, end: Math.min(to, begin + wide), time: best});
  }
  return result;
}

const xOf = (t, width) => margin.left + (t - window_[0]) / (window_[1] - window_[0]) * (width - margin.left - margin.right);
const timeAt = (x, width) => window_[0] + (x - margin.left) / (width - margin.left - margin.right) * (window_[1] - window_[0]);

// What is drawn in it ends at the axes.
function clipped(root, width, height) {
  const clip = svg("clipPath", {id: "inside"}), group = svg("g", {"clip-path": "url(#inside)"});
  clip.append(svg("rect", {x: margin.left, y: 0, width: Math.max(0, width - margin.left - margin.right), height}));
  root.append(clip, group);
  return group;
}

function areas(root, width, yOf) {
  const list = columns(width - margin.left - margin.right), withState = el("show-state").checked;
  let below = list.map(() => 0);
  for (const share of shown) {
    const above = list.map((c, i) => below[i] + fn.loads[share][c.time] + (withState ? stateBytes[share] : 0));
    if (above.some((bytes, i) => bytes > below[i])) {
      const top = list.flatMap((c, i) => [[c.begin, above[i]], [c.end, above[i]]]);
      const bottom = list.flatMap((c, i) => [[c.begin, below[i]], [c.end, below[i]]]).reverse();
      const points = [...top, ...bottom].map(([t, b]) => `${xOf(t, width).toFixed(1)},${yOf(b).toFixed(1)}`);
      root.append(svg("path", {d: "M" + points.join("L") + "Z", fill: colourOf(share), "data-share": share}));
    }
    below = above;
  }
}

function phaseBand(root, width, y) {
  const colours = [colourOf("parameters"), colourOf("gradients"), colourOf("optimizer"), colourOf("mark"), colourOf("communication")];
  for (let t = 1, start = 1; t <= fn.launches.length; ++t) {
    const phase = fn.launches[t - 1][2], next = fn.launches[t];
    if (next && next[2] === phase) continue;
    const from = Math.max(xOf(start, width), margin.left), to = Math.min(xOf(t + 1, width), width - margin.right);
    if (to > from) root.append(svg("rect", {x: from, y, width: to - from, height: 5, fill: colours[phase]}));
    start = t + 1;
  }
}

function drawTimeline() {
  const root = el("timeline"), width = root.clientWidth, height = root.clientHeight;
  root.replaceChildren();
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const base = el("show-state").checked ? plan.persistent : 0;
  const budget = plan.report.budget_bytes, peak = fn.total[fn.peak];
  const most = Math.max(base + peak, base && budget !== null && budget < 2 * (base + peak) ? budget : 0, 1) * 1.05;
  const yOf = (bytes) => height - margin.bottom - bytes / most * (height - margin.top - margin.bottom);
  for (const bytes of ticks(0, most)) {
    const y = yOf(bytes);
    root.append(svg("line", {class: "grid", x1: margin.left, x2: width - margin.right, y1: y, y2: y}),
                svg("text", {x: margin.left - 6, y: y + 4, "text-anchor": "end"}, roundAmount(bytes)));
  }
  const inside = clipped(root, width, height - margin.bottom);
  areas(inside, width, yOf);
  if (base && budget !== null && budget <= most) {
    root.append(svg("line", {class: "budget", x1: margin.left, x2: width - margin.right, y1: yOf(budget), y2: yOf(budget)}),
                svg("text", {x: margin.left + 6, y: yOf(budget) - 4}, "budget " + amount(budget)));
  }
  phaseBand(root, width, height - margin.bottom + 3);
  for (const launch of launchTicks(...window_))
    root.append(svg("text", {class: "launch", x: xOf(launch + 1.5, width), y: height - margin.bottom + 20, "text-anchor": "middle"}, launch));
  root.append(svg("text", {x: margin.left, y: height - 2}, "launches; the band: blue forward, rose backward, green update, red recomputation"
    + (plan.report.host_bytes > 0 ? ", gold copies to host memory and back" : "")));
  if (moment + 1 > window_[0] && moment < window_[1]) {
    const x = xOf(moment + 0.5, width);
    inside.append(svg("line", {class: "moment", x1: x, x2: x, y1: margin.top, y2: height - margin.bottom}));
  }
}

// --- the arena

function visible() {
  const everything = states.map((r) => ({...r, first: -1, last: fn.times - 2, persistent: true})).concat(fn.ranges);
  return everything.filter((r) => r.last + 2 > window_[0] && r.first + 1 < window_[1]);
}

function mapScale() {
  const canvas = el("map"), bottom = el("show-state").checked ? 0 : plan.persistent;
  const height = canvas.clientHeight - 12;
  return {width: canvas.clientWidth, bottom,
          y: (offset) => 6 + height - (offset - bottom) / Math.max(1, plan.arena - bottom) * height,
          offset: (y) => bottom + (6 + height - y) / height * (plan.arena - bottom)};
}

function drawMap() {
  const canvas = el("map"), scale = mapScale(), ratio = devicePixelRatio || 1;
  canvas.width = scale.width * ratio;
  canvas.height = canvas.clientHeight * ratio;
  const g = canvas.getContext("2d");
  g.scale(ratio, ratio);
  g.font = "11px system-ui, sans-serif";
  g.fillStyle = colourOf("quiet");
  g.textAlign = "right";
  for (const offset of ticks(scale.bottom, plan.arena)) {
    g.fillText(roundAmount(offset), margin.left - 6, Math.min(canvas.clientHeight - 2, scale.y(offset) + 4));
  }
  g.save();
  g.beginPath();
  g.rect(margin.left, 0, scale.width - margin.left - margin.right, canvas.clientHeight);
  g.clip();
  const byLayer = el("colour").value === "layer", colours = {};
  for (const share of plan.shares) colours[share] = colourOf(share);
  g.strokeStyle = colourOf("paper");
  const list = visible();
  for (const r of list) {
    if (r.offset + r.bytes <= scale.bottom) continue;
    const x = xOf(r.first + 1, scale.width), y = scale.y(r.offset + r.bytes);
    const w = xOf(r.last + 2, scale.width) - x, h = scale.y(r.offset) - y;
    g.fillStyle = byLayer ? layerColour(r.group) : colours[r.share];
    g.fillRect(x, y, Math.max(w, 0.6), Math.max(h, 0.6));
    if (w > 3 && h > 3) g.strokeRect(x, y, w, h);
    if (w > 90 && h > 13) label(g, r, x, y, w, h);
  }
  const x = xOf(moment + 0.5, scale.width);
  g.strokeStyle = colourOf("mark");
  g.lineWidth = 1.5;
  g.strokeRect(x, 0, 0, canvas.clientHeight);
  g.restore();
  el("map-count").textContent = `${list.length} buffers of ${fn.name} in view, launches from left to right, offsets upward`;
}

function label(g, r, x, y, w, h) {
  const left = Math.max(x, margin.left);
  g.save();
  g.beginPath();
  g.rect(left, y, x + w - left - 3, h);
  g.clip();
  g.fillStyle = "#111";
  g.textAlign = "left";
  g.fillText(`${r.name}  ${amount(r.bytes)}`, left + 4, y + Math.min(h / 2 + 4, 14));
  g.restore();
}

function rangeAt(x, y) {
  const scale = mapScale(), time = timeAt(x, scale.width), offset = scale.offset(y);
  return visible().find((r) => r.first + 1 <= time && time < r.last + 2 && r.offset <= offset && offset < r.offset + r.bytes);
}

// --- the tables

function fill(table, head, rows) {
  const line = (cells, kind) => {
    const row = document.createElement("tr");
    for (const cell of cells) row.append(Object.assign(document.createElement(kind), {textContent: cell}));
    return row;
  };
  table.tHead.replaceChildren(line(head, "th"));
  table.tBodies[0].replaceChildren(...rows.map((cells) => line(cells, "td")));
  return [...table.tBodies[0].children];
}

function tables() {
  const alive = fn.ranges.filter((r) => r.first + 1 <= moment && moment <= r.last + 1);
  el("moment").textContent = (moment === fn.peak ? "at the peak, " : "at ") + timeName(moment) + " of " + fn.name;
  el("launch").textContent = launchText(moment);
  const layers = new Map();
  for (const r of [...states, ...alive]) {
    const name = r.group || "(no module)";
    if (!layers.has(name)) layers.set(name, {total: 0});
    const entry = layers.get(name);
    entry[r.share] = (entry[r.share] || 0) + r.bytes;
    entry.total += r.bytes;
  }
  const sorted = [...layers].sort((a, b) => b[1].total - a[1].total).slice(0, 40);
  fill(el("layers"), ["layer", "total", ...shown.map((s) => s.replace("_", " "))],
       sorted.map(([name, e]) => [name, amount(e.total), ...shown.map((s) => e[s] ? amount(e[s]) : "")]));
  const values = [...alive].sort((a, b) => b.bytes - a.bytes).slice(0, 40);
  const rows = fill(el("values"), ["value", "bytes", "type", "launches", "made by", "last read by"],
       values.map((r) => [r.name, amount(r.bytes), r.type, `${r.first} to ${r.last}`, launchText(r.first + 1), launchText(r.last + 1)]));
  rows.forEach((row, i) => { row.onclick = () => showWhy(values[i], fn.name, moment - 1); });
}

// --- what the user does

function draw() {
  legend();
  drawTimeline();
  drawMap();
  tables();
}

function select(chosen) {
  fn = chosen;
  moment = fn.peak;
  window_ = [0, fn.times];
  for (const button of el("functions").children) button.setAttribute("aria-selected", String(button.textContent === fn.name));
  draw();
}

function setWindow(from, to) {
  const span = Math.min(Math.max(to - from, Math.min(8, fn.times)), fn.times);
  const begin = Math.min(Math.max(from, 0), fn.times - span);
  window_ = [begin, begin + span];
  drawTimeline();
  drawMap();
}

function listen(node, hover, pick) {
  let drag = null;
  const position = (event) => event.clientX - node.getBoundingClientRect().left;
  node.addEventListener("wheel", (event) => {
    event.preventDefault();
    const at = timeAt(position(event), node.clientWidth), factor = Math.exp(event.deltaY * 0.0015);
    setWindow(at - (at - window_[0]) * factor, at + (window_[1] - at) * factor);
  }, {passive: false});
  node.addEventListener("pointerdown", (event) => { drag = {x: event.clientX, window: window_, moved: false}; });
  node.addEventListener("pointermove", (event) => {
    if (drag && event.buttons && Math.abs(event.clientX - drag.x) > 3) {
      drag.moved = true;
      const span = drag.window[1] - drag.window[0];
      const shift = (drag.x - event.clientX) / (node.clientWidth - margin.left - margin.right) * span;
      setWindow(drag.window[0] + shift, drag.window[1] + shift);
    }
    hover(event, position(event));
  });
  node.addEventListener("pointerleave", () => { el("tip").hidden = true; drag = null; });
  node.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) {
      moment = Math.min(fn.times - 1, Math.max(0, Math.floor(timeAt(position(event), node.clientWidth))));
      pick(event, position(event));
      draw();
    }
    drag = null;
  });
  node.addEventListener("dblclick", () => setWindow(0, fn.times));
}

function hoverTimeline(event, x) {
  const t = Math.floor(timeAt(x, el("timeline").clientWidth));
  if (t < 0 || t >= fn.times) return void (el("tip").hidden = true);
  const withState = el("show-state").checked;
  const bytes = (s) => fn.loads[s][t] + (withState ? stateBytes[s] : 0);
  const lines = shown.filter((s) => bytes(s) > 0).map((s) => `${s.replace("_", " ")}: ${amount(bytes(s))}`);
  const total = fn.total[t] + (withState ? plan.persistent : 0);
  showTip(event, [`${timeName(t)}: ${amount(total)}`, launchText(t), ...lines].filter(Boolean).join("\n"));
}

function hoverMap(event, x) {
  const r = rangeAt(x, event.clientY - el("map").getBoundingClientRect().top);
  if (!r) return void (el("tip").hidden = true);
  const life = r.persistent ? "all the time" : `launches ${r.first} to ${r.last}`;
  showTip(event, [r.name, `${amount(r.bytes)} at offset ${r.offset} (${r.type})`, `${r.share.replace("_", " ")}, ${life}`,
                  r.layer ? "layer " + r.layer : "", r.persistent ? "" : launchText(r.first + 1),
                  r.persistent || r.last === r.first || !launchText(r.last + 1) ? "" : "last read by " + launchText(r.last + 1)].filter(Boolean).join("\n"));
}

function pickInMap(event, x) {
  const range = rangeAt(x, event.clientY - el("map").getBoundingClientRect().top);
  if (range) showWhy(range, fn.name, moment - 1);
}

// --- added time against bytes

// A few round percentages.
function percentTicks(most) {
  const step = roundStep(most / 5), list = [];
  for (let k = 0; k * step <= most; ++k) list.push(k * step);
  return list;
}

function drawFrontier() {
  const points = plan.report.frontier;
  if (!points || points.length < 2) return;
  el("frontier-section").hidden = false;
  const node = el("frontier"), width = node.clientWidth || 900, height = 260;
  const bytes = points.map((p) => p.peak_bytes), most = Math.max(...points.map((p) => 100 * p.overhead), 1e-3);
  const [from, to] = [Math.min(...bytes), Math.max(...bytes)];
  const x = (b) => margin.left + (width - margin.left - margin.right - 20) * (b - from) / Math.max(1, to - from);
  const y = (percent) => height - margin.bottom - (height - margin.top - margin.bottom) * percent / most;
  const lines = [];
  for (const bytes of ticks(from, to))
    lines.push(svg("text", {x: x(bytes), y: height - margin.bottom + 16, "text-anchor": "middle"}, roundAmount(bytes)));
  for (const percent of percentTicks(most))
    lines.push(svg("line", {class: "grid", x1: margin.left, x2: width - margin.right, y1: y(percent), y2: y(percent)}),
               svg("text", {x: margin.left - 6, y: y(percent) + 4, "text-anchor": "end"}, +percent.toPrecision(3) + " %"));
  const path = (key) => points.map((p, i) => `${i ? "L" : "M"}${x(p.peak_bytes)} ${y(100 * p[key])}`).join("");
  lines.push(svg("path", {class: "bound", d: path("lower_bound")}), svg("path", {class: "plan", d: path("overhead")}));
  for (const p of points) {
    const dot = svg("circle", {cx: x(p.peak_bytes), cy: y(100 * p.overhead), r: 4});
    dot.append(svg("title", {}, `${amount(p.peak_bytes)}: ${(100 * p.overhead).toFixed(3)} % more time, proven at least ${(100 * p.lower_bound).toFixed(3)} %`));
    lines.push(dot);
  }
  node.setAttribute("viewBox", `0 0 ${width} ${height}`);
  node.replaceChildren(...lines);
}

// --- the ranks of a pipeline

const shortSeconds = (s) => s >= 1 ? s.toPrecision(3) + " s" : s >= 1e-3 ? (1e3 * s).toPrecision(3) + " ms" : (1e6 * s).toPrecision(3) + " µs";

function drawSlots(pipeline, ranks) {
  const node = el("pipeline"), width = node.clientWidth || 900, row = 26, height = ranks.length * row + margin.top + 24;
  const x = (time) => margin.left + (width - margin.left - margin.right) * time / pipeline.seconds;
  const colours = {forward: colourOf("parameters"), backward: colourOf("gradients"), weights: colourOf("optimizer")};
  const parts = ranks.map((rank, i) => svg("text", {x: margin.left - 6, y: margin.top + i * row + 16, "text-anchor": "end"}, "rank " + rank.rank));
  for (const slot of pipeline.slots) {
    const at = ranks.findIndex((rank) => rank.stage === slot.rank), wide = x(slot.end) - x(slot.begin);
    const box = svg("rect", {x: x(slot.begin), y: margin.top + at * row + 2, width: Math.max(wide, 0.5), height: row - 4, fill: colours[slot.part], class: "slot"});
    box.append(svg("title", {}, `${slot.part} of micro-batch ${slot.micro} on stage ${slot.stage}: ${shortSeconds(slot.begin)} to ${shortSeconds(slot.end)}`));
    parts.push(box);
    if (wide > 14) parts.push(svg("text", {class: "in-slot", x: x(slot.begin) + wide / 2, y: margin.top + at * row + 17, "text-anchor": "middle"}, slot.micro));
  }
  for (let k = 0; k <= 4; ++k)
    parts.push(svg("text", {x: x(k * pipeline.seconds / 4), y: height - 6, "text-anchor": k ? "end" : "start"}, shortSeconds(k * pipeline.seconds / 4)));
  node.style.height = height + "px";
  node.setAttribute("viewBox", `0 0 ${width} ${height}`);
  node.replaceChildren(...parts);
}

function drawPipeline() {
  const pipeline = plan.report.pipeline, ranks = plan.report.ranks;
  if (!pipeline) return;
  el("pipeline-section").hidden = false;
  const percent = (share) => (100 * share).toFixed(1) + " %";
  el("pipeline-hint").textContent = `${pipeline.schedule}: ranks wait ${percent(pipeline.bubble)} of the time (bubble), as predicted; blue forward, rose backward, green gradients of weights`;
  drawSlots(pipeline, ranks);
  fill(el("ranks"), ["rank", "place", "peak", "bubble", "micro-batches in flight"],
       ranks.map((r) => [r.rank, r.stage, amount(r.peak_bytes), percent(r.bubble), r.in_flight]));
  fill(el("stages"), ["stage", "place", "a micro-batch", "modules"],
       pipeline.stages.map((s) => [s.stage, s.rank, shortSeconds(s.seconds), s.modules.length ? s.modules[0] + (s.modules.length > 1 ? " to " + s.modules[s.modules.length - 1] : "") : ""]));
}

function start() {
  document.title = "Memory plan of " + plan.title;
  el("title").textContent = "Memory plan of " + plan.title;
  const buffers = functions.reduce((sum, f) => sum + f.ranges.length, 0);
  const launches = functions.reduce((sum, f) => sum + f.launches.length, 0);
  el("subtitle").textContent = `${launches} launches and ${buffers} transient buffers in ${functions.length} functions, `
    + `${states.length} state tensors; one arena of ${plan.arena} bytes`;
  tiles();
  for (const f of functions) {
    const button = Object.assign(document.createElement("button"), {textContent: f.name, onclick: () => select(f)});
    button.setAttribute("role", "tab");
    el("functions").append(button);
  }
  listen(el("timeline"), hoverTimeline, () => {});
  listen(el("map"), hoverMap, pickInMap);
  el("show-state").addEventListener("change", draw);
  el("colour").addEventListener("change", drawMap);
  addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  select(fn);
  drawFrontier();
  drawPipeline();
  addEventListener("resize", () => { drawFrontier(); drawPipeline(); });
  document.documentElement.dataset.rendered = "yes";
}

try {
  start();
} catch (error) {
  el("error").hidden = false;
  el("error").textContent = "This page could not be drawn: " + error;
}
