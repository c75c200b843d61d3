// What both tests of --emit web share: rows of a golden model as a step takes them, and the program's log beside what was learned.

export function valuesOf(bytes) {
  const begin = 10 + bytes[8] + 256 * bytes[9], header = new TextDecoder().decode(bytes.subarray(10, begin));
  const array = header.includes("<i8") ? BigInt64Array : header.includes("<i4") ? Int32Array : Float32Array;
  return new array(bytes.slice(begin).buffer);
}

/** Trains as `log` tells the program did; rates that differ from step to step are set. */
export function trainAsLogged(learner, model, data, log) {
  let worst = 0;
  const sizes = Object.fromEntries(model.inputs.map((input) => [input.name, input.shape.reduce((a, b) => a * b, 1) / model.batch]));
  for (const { step, lr, loss } of log) {
    const rows = {};
    for (const { name } of model.inputs) {
      const size = sizes[name], count = data[name].length / size;
      rows[name] = new data[name].constructor(size * model.batch);
      for (let row = 0; row < model.batch; ++row) {
        const from = ((step * model.batch + row) % count) * size;
        rows[name].set(data[name].slice(from, from + size), row * size);
      }
    }
    learner.rates = { lr };
    worst = Math.max(worst, Math.abs(learner.step(rows).loss - loss) / Math.max(1, Math.abs(loss)));
  }
  return worst;
}
