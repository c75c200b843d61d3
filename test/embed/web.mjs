// Trains a golden model by what --emit web wrote, in node: web.mjs MODULE.mjs GOLDEN_FOLDER LOG RATES.
import assert from "node:assert";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { trainAsLogged, valuesOf } from "./golden.mjs";

const [module, folder, logFile, ratesFile] = process.argv.slice(2);
const { Learner, model } = await import(pathToFileURL(module));
const log = readFileSync(logFile, "utf8").trim().split("\n").map((line) => JSON.parse(line));
const trace = JSON.parse(readFileSync(`${folder}/trace.json`, "utf8"));
const data = Object.fromEntries(Object.entries(trace.data).map(([name, file]) => [name, valuesOf(new Uint8Array(readFileSync(`${folder}/${file}`)))]));

const learner = await Learner.load();
learner.rates = JSON.parse(readFileSync(ratesFile, "utf8"));
const worst = trainAsLogged(learner, model, data, log);
console.log(`${log.length} losses within ${worst < 1e-5 ? "1e-5" : worst} of the program's, after ${learner.steps} steps`);
const rows = model.inputs.concat(model.outputs).reduce((sum, row) => sum + 8 * row.shape.reduce((a, b) => a * b, 1), 0);
assert(learner.memory < model.arena + rows + 600 * 1024, `memory of ${learner.memory} bytes for an arena of ${model.arena}`);

// A checkpoint goes on to the bit, also after other steps.
const kept = learner.save(), begin = learner.steps;
const onwards = async (steps) => (await learner.train(data, { steps })).loss;
const first = await onwards(5);
learner.restore(kept);
assert.equal(learner.steps, begin);
assert.equal(await onwards(5), first);
const fresh = await Learner.load();
fresh.restore(kept);
assert.equal((await fresh.train(data, { steps: 5 })).loss, first);
console.log("goes on from a checkpoint to the bit");

// Tensors go out and in; a .safetensors file has them.
const [{ name, shape }] = learner.tensors, values = learner.tensor(name);
learner.setTensor(name, values.map((value) => value + 1));
assert.equal(learner.tensor(name)[0], Math.fround(values[0] + 1));
learner.setTensor(name, values);
const file = learner.safetensors(), length = Number(new DataView(file.buffer).getBigUint64(0, true));
const header = JSON.parse(new TextDecoder().decode(file.subarray(8, 8 + length)));
assert.deepEqual(header[name].shape, shape);
assert.equal(8 + length + Math.max(...Object.values(header).map((entry) => entry.data_offsets[1])), file.length);
console.log(`${Object.keys(header).length} tensors in a .safetensors file`);

// It stops when it is asked to.
const stopping = new AbortController();
let heard = 0;
await learner.train(data, { steps: 1000, signal: stopping.signal, onStep: () => ++heard === 3 && stopping.abort() });
assert.equal(heard, 3);

// What cannot be is refused, and changes nothing.
const refused = async (act) => {
  try {
    await act();
  } catch (error) {
    return console.log(error.message);
  }
  assert.fail("it was not refused");
};
await refused(() => learner.step({}));
await refused(() => learner.predict({ ...Object.fromEntries(model.inputs.map((input) => [input.name, []])) }));
await refused(() => (learner.rates = { speed: 1 }));
const { lr } = learner.rates;
await refused(() => (learner.rates = { lr: lr + 1, eps: NaN }));
assert.equal(learner.rates.lr, lr);
await refused(() => learner.train(data, {}));
await refused(() => learner.tensor("none"));
await refused(() => learner.restore(new Uint8Array(100)));
await refused(() => learner.restore(kept.subarray(0, kept.length - 1)));
const other = kept.slice();
other[other.findIndex((_, at) => String.fromCharCode(...other.subarray(at, at + 11)) === "fingerprint") + 15] ^= 1;
await refused(() => learner.restore(other));
learner.restore(kept);
assert.equal(await onwards(5), first);
