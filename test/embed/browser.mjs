// Opens a page in a browser without a window, and prints what an expression there gives: browser.mjs BROWSER PROFILE PAGE EXPRESSION [SHOT.png].
// The expression may be a promise, or @FILE.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [browser, profile, page, words, shot] = process.argv.slice(2);
const expression = words.startsWith("@") ? readFileSync(words.slice(1), "utf8") : words;
const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", `--user-data-dir=${resolve(profile)}`, "--window-size=800,640"];
const child = spawn(browser, [...flags, "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
const ended = new Promise((resolve) => child.on("exit", resolve));
ended.then(() => waiting.size && fail("the browser ended"));
const [, , , to, from] = child.stdio, waiting = new Map();
const fail = (text) => {
  console.error(text);
  process.exitCode = 1;
  child.kill();
};
let next = 0, text = "";
from.on("data", (bytes) => {
  const messages = (text + bytes).split("\0");
  text = messages.pop();
  for (const { id, result, error } of messages.map((message) => JSON.parse(message))) {
    const call = waiting.get(id);
    waiting.delete(id);
    if (call) error ? call.reject(new Error(error.message)) : call.resolve(result);
  }
});
const ask = (method, params, sessionId) => new Promise((resolve, reject) => {
  waiting.set(++next, { resolve, reject });
  to.write(JSON.stringify({ id: next, method, params, sessionId }) + "\0");
});

const { targetId } = await ask("Target.createTarget", { url: "about:blank" });
const { sessionId } = await ask("Target.attachToTarget", { targetId, flatten: true });
const evaluate = (expression) => ask("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true }, sessionId);
const address = pathToFileURL(page).href;
await ask("Page.navigate", { url: address }, sessionId);
while ((await evaluate("location.href + document.readyState")).result.value !== `${address}complete`)
  await new Promise((resolve) => setTimeout(resolve, 50));
const { result, exceptionDetails } = await evaluate(expression);
console.log(exceptionDetails ? exceptionDetails.exception.description : result.value);
if (shot) writeFileSync(shot, Buffer.from((await ask("Page.captureScreenshot", { format: "png" }, sessionId)).data, "base64"));
to.write(JSON.stringify({ id: ++next, method: "Browser.close" }) + "\0");
await ended; // the profile is free then
process.exitCode = exceptionDetails ? 1 : 0;
