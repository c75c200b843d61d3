// A model that learns in a page, in a worker or in node. `model` tells of it, as kedge compile --emit web wrote it;
// `read` gives the bytes of its module, or the compiled module.
function kedgeLibrary(model, read) {
  "use strict";
  const ARRAYS = {
    f32: Float32Array, f64: Float64Array, i8: Int8Array, i16: Int16Array, i32: Int32Array, i64: BigInt64Array,
    u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, u64: BigUint64Array, bool: Uint8Array,
  };
  const SAFETENSORS = {
    f32: "F32", f64: "F64", i8: "I8", i16: "I16", i32: "I32", i64: "I64", u8: "U8", u16: "U16", u32: "U32", u64: "U64", bool: "BOOL",
  };
  const RATES = ["lr", "beta1", "beta2", "eps", "weight_decay", "momentum", "clip_norm"]; // float64 each, in this order
  const MAGIC = "KEDGEWEB";
  const WEIGHTS = "kedge.weights"; // a section of the module
  const elements = (shape) => shape.reduce((product, size) => product * size, 1);
  const isWide = (type) => type === "i64" || type === "u64";

  function fail(text) {
    throw new Error(`${model.name}: ${text}`);
  }

  /** Values as the type has them; numbers become bigints where the type needs them. */
  function typed(type, values, name, count) {
    const array = ARRAYS[type];
    if (!values || typeof values.length !== "number")
      fail(`'${name}': expected an array of ${count} values, found ${values === null ? "null" : typeof values}`);
    if (values.length !== count) fail(`'${name}': expected ${count} values, found ${values.length}`);
    if (values instanceof array) return values;
    return array.from(values, isWide(type) ? BigInt : Number);
  }

  /** Places of a tensor's elements in the file's order, where the arena holds it with axes in another one. */
  function transposed(tensor, visit) {
    const held = tensor.perm.map((axis, at) => ({ axis, size: tensor.shape[at] }));
    const sizes = [];
    held.forEach(({ axis, size }) => (sizes[axis] = size));
    const steps = sizes.map((_, axis) => elements(sizes.slice(axis + 1)));
    const place = held.map(() => 0);
    for (let at = 0; at < elements(tensor.shape); ++at) {
      visit(at, held.reduce((sum, { axis }, d) => sum + place[d] * steps[axis], 0));
      for (let d = place.length - 1; d >= 0 && ++place[d] === held[d].size; --d) place[d] = 0;
    }
  }
  /** As the ONNX file has it. */
  function shapeOf(tensor) {
    const shape = tensor.shape.slice();
    if (tensor.perm) tensor.perm.forEach((axis, at) => (shape[axis] = tensor.shape[at]));
    return shape;
  }

  async function moduleOf(source) {
    let from = source === undefined ? await read() : await source;
    if (typeof from === "string" || from instanceof URL) from = await fetch(from);
    if (typeof Response !== "undefined" && from instanceof Response) {
      if (!from.ok) fail(`${from.url} was not loaded: ${from.status} ${from.statusText}`);
      from = await from.arrayBuffer();
    }
    return from instanceof WebAssembly.Module ? from : WebAssembly.compile(from);
  }

  class Learner {
    #wasm;
    #places;
    #result;

    /** From the module beside this file, or from `source`: its address, its bytes, a response, a compiled module. */
    static async load(source) {
      const module = await moduleOf(source);
      const [weights] = WebAssembly.Module.customSections(module, WEIGHTS);
      const expected = model.initial.reduce((sum, [, bytes]) => sum + bytes, 0);
      if (!weights || weights.byteLength !== expected)
        fail(`the module holds ${weights ? weights.byteLength : 0} bytes of weights, expected ${expected}: it is another program's`);
      return new Learner((await WebAssembly.instantiate(module, {})).exports, new Uint8Array(weights));
    }

    constructor(wasm, weights) {
      this.#wasm = wasm;
      this.#placeRows();
      let at = 0;
      for (const [place, bytes] of model.initial) this.#kept().set(weights.subarray(at, (at += bytes)), place);
      this.#call("start");
    }

    /** Rows of a step. */
    get batch() {
      return model.batch;
    }
    get steps() {
      return Number(this.#call("steps"));
    }
    /** Bytes of the linear memory. */
    get memory() {
      return this.#wasm.memory.buffer.byteLength;
    }
    /** Of the steps to come: lr, beta1, beta2, eps, weight_decay, momentum, clip_norm, and the integer seed. */
    get rates() {
      const numbers = this.#view(Float64Array, this.#address("rates"), RATES.length);
      const rates = Object.fromEntries(RATES.map((name, at) => [name, numbers[at]]));
      rates.seed = this.#view(BigInt64Array, this.#address("rates") + 8 * RATES.length, 1)[0];
      return rates;
    }
    set rates(given) {
      const { seed, ...rates } = given;
      for (const [name, value] of Object.entries(rates)) {
        if (!RATES.includes(name)) fail(`there is no rate '${name}'; there are ${RATES.join(", ")} and seed`);
        if (!Number.isFinite(value)) fail(`rate '${name}': expected a finite number, found ${value}`);
      }
      if (seed !== undefined) this.#view(BigInt64Array, this.#address("rates") + 8 * RATES.length, 1)[0] = BigInt(seed);
      const numbers = this.#view(Float64Array, this.#address("rates"), RATES.length);
      for (const [name, value] of Object.entries(rates)) numbers[RATES.indexOf(name)] = value;
    }

    /** A step on `batch` rows, an array for each input: {loss, gradNorm}. */
    step(rows) {
      return this.#run("step", rows);
    }
    /** The loss of `batch` rows, without a step. */
    evaluate(rows) {
      return { loss: this.#run("evaluate", rows).loss };
    }
    /** The outputs for `batch` rows, an array for each. */
    predict(rows) {
      const inputs = model.inputs.filter((input) => !input.labels);
      const addresses = this.#put(inputs, rows);
      const outputs = model.outputs.map((output) => this.#places.get(output));
      this.#expectTaken(this.#call("predict", ...addresses, ...outputs));
      return Object.fromEntries(model.outputs.map((output) => [
        output.name, this.#view(ARRAYS[output.type], this.#places.get(output), elements(output.shape)).slice(),
      ]));
    }

    /** Steps on `data`, an array of any number of rows for each input: a step takes the next rows, and begins again after the last
        one. `onStep({step, loss, gradNorm})` hears of each; a `signal` of an AbortController ends it after a step. */
    async train(data, { steps, signal, onStep } = {}) {
      const sizes = model.inputs.map((input) => elements(input.shape) / model.batch);
      const counts = model.inputs.map((input, at) => {
        if (!data[input.name]) fail(`train: no rows for '${input.name}'; there are ${model.inputs.map((i) => `'${i.name}'`).join(", ")}`);
        return data[input.name].length / sizes[at];
      });
      if (counts.some((count) => count !== counts[0] || !Number.isInteger(count) || count === 0))
        fail(`train: rows of ${model.inputs.map((input, at) => `'${input.name}': ${counts[at]} of ${sizes[at]} values`).join(", ")}; ` +
             "expected as many whole rows of each");
      if (!(Number.isInteger(steps) && steps >= 0)) fail(`train: expected a number of steps, found ${steps}`);
      const last = { step: this.steps, loss: NaN, gradNorm: NaN };
      let rested = Date.now();
      for (let done = 0; done < steps && !(signal && signal.aborted); ++done) {
        const first = this.steps * model.batch;
        const rows = Object.fromEntries(model.inputs.map((input, at) => {
          const chosen = new ARRAYS[input.type](elements(input.shape));
          for (let row = 0; row < model.batch; ++row) {
            const from = ((first + row) % counts[0]) * sizes[at], values = data[input.name].slice(from, from + sizes[at]);
            chosen.set(typed(input.type, values, input.name, sizes[at]), row * sizes[at]);
          }
          return [input.name, chosen];
        }));
        Object.assign(last, this.step(rows), { step: this.steps });
        if (onStep) onStep({ ...last });
        if (Date.now() - rested > 50) { // others have their turn
          await new Promise((resolve) => setTimeout(resolve, 0));
          rested = Date.now();
        }
      }
      return last;
    }

    /** Names of the model's tensors, as in the ONNX file. */
    get tensors() {
      return model.tensors.map((tensor) => ({ name: tensor.name, type: tensor.type, shape: shapeOf(tensor) }));
    }
    /** A copy of its values. */
    tensor(name) {
      const tensor = this.#tensorOf(name), held = this.#held(tensor);
      if (!tensor.perm) return held.slice();
      const values = new ARRAYS[tensor.type](held.length);
      transposed(tensor, (at, inFile) => (values[inFile] = held[at]));
      return values;
    }
    setTensor(name, values) {
      const tensor = this.#tensorOf(name), held = this.#held(tensor);
      const given = typed(tensor.type, values, name, held.length);
      if (!tensor.perm) held.set(given);
      else transposed(tensor, (at, inFile) => (held[at] = given[inFile]));
    }
    /** All tensors, as the bytes of a .safetensors file. */
    safetensors() {
      const header = {}, parts = [];
      let bytes = 0;
      for (const tensor of model.tensors) {
        const values = this.tensor(tensor.name);
        header[tensor.name] = { dtype: SAFETENSORS[tensor.type], shape: shapeOf(tensor), data_offsets: [bytes, bytes + values.byteLength] };
        bytes += values.byteLength;
        parts.push(new Uint8Array(values.buffer));
      }
      return this.#joined("", header, parts, 8);
    }

    /** A checkpoint: what goes on after a pause. */
    save() {
      const { seed, ...rates } = this.rates;
      const header = { version: 1, model: model.name, fingerprint: model.fingerprint, steps: this.steps, rates: { ...rates, seed: String(seed) } };
      return this.#joined(MAGIC, header, [this.#kept().slice()], 8);
    }
    /** Goes on from what save() gave; nothing has changed where it fails. */
    restore(bytes) {
      const all = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
      const text = (from, to) => new TextDecoder().decode(all.subarray(from, to));
      if (all.length < 16 || text(0, 8) !== MAGIC) fail("restore: these bytes are no checkpoint of a program for the web");
      const length = Number(new DataView(all.buffer, all.byteOffset).getBigUint64(8, true));
      if (length > all.length - 16) fail(`restore: the checkpoint is cut off: ${all.length} bytes`);
      const header = JSON.parse(text(16, 16 + length));
      if (header.version !== 1 || header.fingerprint !== model.fingerprint)
        fail(`restore: the checkpoint is of another program ('${header.model}'); compile that one, or begin anew`);
      if (all.length !== 16 + length + model.kept)
        fail(`restore: the checkpoint has ${all.length} bytes, expected ${16 + length + model.kept}: it is cut off or damaged`);
      if (!Number.isSafeInteger(header.steps) || header.steps < 0) fail(`restore: ${header.steps} is no number of steps`);
      this.rates = header.rates;
      this.#kept().set(all.subarray(16 + length));
      this.#call("go_on", BigInt(header.steps));
    }

    /** Once: growing the memory later would make views stale. */
    #placeRows() {
      const places = new Map();
      let at = this.#wasm.__heap_base.value;
      const place = (bytes) => {
        const begin = Math.ceil(at / 64) * 64;
        at = begin + bytes;
        return begin;
      };
      for (const row of [...model.inputs, ...model.outputs]) places.set(row, place(ARRAYS[row.type].BYTES_PER_ELEMENT * elements(row.shape)));
      this.#result = place(16);
      this.#places = places;
      const missing = at - this.#wasm.memory.buffer.byteLength;
      if (missing > 0) this.#wasm.memory.grow(Math.ceil(missing / 65536));
    }
    #view(array, at, count) {
      return new array(this.#wasm.memory.buffer, at, count);
    }
    #address(name) {
      return this.#wasm[`${model.name}_${name}`].value;
    }
    #call(name, ...words) {
      return this.#wasm[`${model.name}_${name}`](...words);
    }
    #kept() {
      return this.#view(Uint8Array, this.#address("arena"), model.kept);
    }
    #tensorOf(name) {
      return model.tensors.find((tensor) => tensor.name === name) || fail(`there is no tensor '${name}'`);
    }
    #held(tensor) {
      return this.#view(ARRAYS[tensor.type], this.#address("arena") + tensor.offset, elements(tensor.shape));
    }
    #put(inputs, rows) {
      for (const name of Object.keys(rows))
        if (!inputs.some((input) => input.name === name))
          fail(`there is no input '${name}' here; there are ${inputs.map((input) => `'${input.name}'`).join(", ")}`);
      return inputs.map((input) => {
        const count = elements(input.shape), place = this.#places.get(input);
        this.#view(ARRAYS[input.type], place, count).set(typed(input.type, rows[input.name], input.name, count));
        return place;
      });
    }
    #run(name, rows) {
      this.#expectTaken(this.#call(name, ...this.#put(model.inputs, rows), this.#result));
      const [loss, gradNorm] = this.#view(Float64Array, this.#result, 2);
      return { loss, gradNorm };
    }
    #expectTaken(refused) {
      if (refused === 0) return;
      const { name, lo, hi } = model.inputs[refused - 1];
      const bounds = [lo !== undefined ? `from ${lo}` : "", hi !== undefined ? `up to ${hi}` : ""].filter(Boolean).join(" ");
      throw new RangeError(`${model.name}: '${name}' has a value that the model does not take; expected values ${bounds}`);
    }
    #joined(magic, header, parts, align) {
      let text = JSON.stringify(header);
      text = text.padEnd(Math.ceil((new TextEncoder().encode(text).length) / align) * align - new TextEncoder().encode(text).length + text.length);
      const words = new TextEncoder().encode(text);
      const bytes = new Uint8Array(magic.length + 8 + words.length + parts.reduce((sum, part) => sum + part.length, 0));
      bytes.set(new TextEncoder().encode(magic));
      new DataView(bytes.buffer).setBigUint64(magic.length, BigInt(words.length), true);
      bytes.set(words, magic.length + 8);
      let at = magic.length + 8 + words.length;
      for (const part of parts) bytes.set(part, at), (at += part.length);
      return bytes;
    }
  }

  /** Bytes by name in the browser's IndexedDB. */
  const store = {
    async run(mode, act) {
      const open = indexedDB.open(`kedge-${model.name}`, 1);
      open.onupgradeneeded = () => open.result.createObjectStore("bytes");
      const database = await this.answer(open);
      try {
        const transaction = database.transaction("bytes", mode);
        const done = new Promise((resolve, reject) => {
          transaction.oncomplete = resolve;
          transaction.onabort = transaction.onerror = () => reject(transaction.error);
        });
        const value = await this.answer(act(transaction.objectStore("bytes")));
        await done;
        return value;
      } finally {
        database.close();
      }
    },
    answer(request) {
      return new Promise((resolve, reject) => {
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
      });
    },
    put: (name, bytes) => store.run("readwrite", (bytesOf) => bytesOf.put(bytes, name)),
    /** undefined: there are none. */
    get: (name) => store.run("readonly", (bytesOf) => bytesOf.get(name)),
    delete: (name) => store.run("readwrite", (bytesOf) => bytesOf.delete(name)),
    names: () => store.run("readonly", (bytesOf) => bytesOf.getAllKeys()),
  };

  const CALLS = ["step", "evaluate", "predict", "tensor", "setTensor", "safetensors", "save", "restore"];

  /** A learner in a worker of its own: its calls give promises, and the page goes on meanwhile. */
  async function inWorker(source) {
    if (typeof Worker === "undefined") fail("inWorker: there are no workers here; Learner.load() learns on this thread");
    const module = await moduleOf(source);
    const text = `${kedgeLibrary}\nkedgeLibrary(${JSON.stringify(model)}).serve();`;
    const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    const worker = new Worker(address);
    const waiting = new Map();
    let next = 0;
    const end = (error) => {
      waiting.forEach(({ reject }) => reject(error));
      waiting.clear();
    };
    worker.onerror = (event) => end(new Error(`${model.name}: the worker failed: ${event.message}`));
    worker.onmessage = ({ data: { id, value, error, step } }) => {
      const call = waiting.get(id);
      if (!call) return;
      if (step) return call.onStep && call.onStep(step);
      waiting.delete(id);
      if (error) call.reject(new Error(error));
      else call.resolve(value);
    };
    const ask = (name, words, onStep) => new Promise((resolve, reject) => {
      const id = next++;
      waiting.set(id, { resolve, reject, onStep });
      worker.postMessage({ id, name, words });
    });
    const learner = Object.fromEntries(CALLS.map((name) => [name, (...words) => ask(name, words)]));
    learner.train = (data, { steps, signal, onStep } = {}) => {
      const done = ask("train", [data, { steps }], onStep);
      const stop = () => worker.postMessage({ name: "stop" });
      if (!signal) return done;
      if (signal.aborted) stop();
      signal.addEventListener("abort", stop);
      return done.finally(() => signal.removeEventListener("abort", stop));
    };
    learner.steps = () => ask("get", ["steps"]);
    learner.rates = () => ask("get", ["rates"]);
    learner.setRates = (rates) => ask("set", ["rates", rates]);
    learner.close = () => {
      worker.terminate();
      URL.revokeObjectURL(address);
      end(new Error(`${model.name}: the learner was closed`));
    };
    await ask("load", [module]);
    return learner;
  }

  /** In a worker: calls one after the other. */
  function serve() {
    let learner, stopping = new AbortController(), turn = Promise.resolve();
    const answer = async ({ id, name, words }) => {
      try {
        if (name === "load") learner = await Learner.load(words[0]);
        let value;
        if (name === "get") value = learner[words[0]];
        else if (name === "set") learner[words[0]] = words[1];
        else if (name === "train") {
          value = await learner.train(words[0], { ...words[1], signal: stopping.signal, onStep: (step) => self.postMessage({ id, step }) });
          stopping = new AbortController();
        } else if (CALLS.includes(name)) value = learner[name](...words);
        self.postMessage({ id, value });
      } catch (error) {
        self.postMessage({ id, error: error.message });
      }
    };
    self.onmessage = ({ data }) => {
      if (data.name === "stop") stopping.abort();
      else turn = turn.then(() => answer(data));
    };
  }

  return { model, Learner, inWorker, store, serve };
}
