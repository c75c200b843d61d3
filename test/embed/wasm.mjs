// Trains the golden perceptron in WebAssembly: wasm.mjs GOLDEN_FOLDER OUT. Losses are those of the program, to the bit. in_c.py has left log.jsonl in OUT.
import { readFileSync } from "node:fs";

const [folder, out] = process.argv.slice(2);
const log = readFileSync(`${out}/log.jsonl`, "utf8").trim().split("\n").map((line) => JSON.parse(line));
const rowsOf = (name) => {
  const raw = readFileSync(`${folder}/${name}.npy`), begin = 10 + raw.readUInt16LE(8);
  return new Float32Array(raw.buffer.slice(raw.byteOffset + begin, raw.byteOffset + raw.length));
};
const { instance } = await WebAssembly.instantiate(readFileSync(`${out}/learner.wasm`), {});
const wasm = instance.exports;
const batch = 8, inputs = { input: { rows: rowsOf("input"), width: 10 }, labels: { rows: rowsOf("labels"), width: 3 } };
for (const input of Object.values(inputs)) input.at = wasm.malloc(4 * batch * input.width);
const result = wasm.malloc(16);

wasm.learner_start();
new Float64Array(wasm.memory.buffer, wasm.learner_rates.value, 1)[0] = log[0].lr;
let same = 0;
for (const { step, loss } of log) {
  for (const { rows, width, at } of Object.values(inputs)) {
    const memory = new Float32Array(wasm.memory.buffer, at, batch * width), count = rows.length / width;
    for (let row = 0; row < batch; ++row) {
      const from = (step * batch + row) % count;
      memory.set(rows.subarray(from * width, (from + 1) * width), row * width);
    }
  }
  wasm.learner_step(inputs.input.at, inputs.labels.at, result);
  same += new Float64Array(wasm.memory.buffer, result, 1)[0] === loss;
}
console.log(`${same} of ${log.length} losses in WebAssembly are those of the program, to the bit`);
