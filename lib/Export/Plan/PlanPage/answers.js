"use strict";
// What `kedge why` answers about what is in a range of the arena. Launches come as numbers of a table.

const launchesOf = (name, numbers) => numbers.map((number) => plan.answers.turns[name][number]);

const valueAnswer = (value) => ({...value, made: launchesOf(value.function, value.made), read: launchesOf(value.function, value.read)});

function stateAnswer({tensor, meaning, state}) {
  const functions = state.functions.map((f) => ({...f, readers: launchesOf(f.name, f.readers), writers: launchesOf(f.name, f.writers),
    gathers: launchesOf(f.name, f.gathers)}));
  return {tensor, meaning, state: {...state, functions}};
}

// All that a reader may ask, as `kedge why --json` answers it.
function everyAnswer() {
  if (!plan.answers) return [];
  const value = (v) => ({tensor: v.id, meaning: `value ${v.id.split("#").pop()} of @${v.function}`, values: [valueAnswer(v)]});
  return [...plan.answers.values.map(value), ...plan.answers.states.map(stateAnswer)].map((answer) => ({...answer, plan: plan.answers.plan}));
}

// Of a range at a launch: where a value takes the bytes of another over, both.
function answersAt(range, name, launch) {
  const isThere = (life) => life.memory === "device" && life.offset === range.offset && life.from <= launch && launch <= life.to;
  return everyAnswer().filter((answer) => range.persistent
    ? answer.state && answer.state.copies.some((copy) => copy.memory === "device" && copy.offset === range.offset)
    : answer.values && answer.values[0].function === name && answer.values[0].in_memory.some(isThere));
}

// --- as rows of a table: a label and a text

const bytesText = (bytes) => bytes < 1024 ? `${bytes} B` : `${amount(bytes)} (${bytes} bytes)`;
const changeText = (bytes) => bytes === 0 ? "peak as it is" : `peak ${bytes < 0 ? "-" : "+"}${amount(Math.abs(bytes))}`;
const secondsText = (seconds) => `${seconds < 0 ? "" : "+"}${seconds.toExponential(3)} s a step`;

function turnText(turn) {
  const place = [turn.module, turn.node].filter(Boolean).join("/");
  return [`launch ${turn.launch}`, turn.kernel, turn.phase, place, turn.recomputed && `(again: ${turn.recomputed})`,
          turn.copied && `(copy: ${turn.copied})`].filter(Boolean).join("  ");
}

function priceRow(decision, price, chosen) {
  const label = (decision === chosen ? "the plan: " : "or: ") + decision;
  return [label, price.obstacle || `${amount(price.peak_bytes)}, ${changeText(price.peak_change)}, ${secondsText(price.seconds_change)}`];
}

function valueRows(value) {
  const life = (l) => `${l.from < 0 ? "start" : l.from} to ${l.to} at ${l.offset}${l.memory === "host" ? " (host)" : ""}`;
  const peak = value.peak;
  return [
    ["value", [value.id, value.type, bytesText(value.bytes), value.phase, [value.module, value.node].filter(Boolean).join("/")].filter(Boolean).join(", ")],
    ["layout", value.layout],
    ...value.made.map((turn, i) => [i ? "made again" : "made", turnText(turn)]),
    ...value.read.map((turn) => ["read", turnText(turn)]),
    ["in memory", "launches " + value.in_memory.map(life).join(", ") + (value.persistent ? "; its place is a state's, which is always there" : "")],
    ["at the peak", `${peak.stands ? "yes" : "no"}: launch ${peak.launch} of ${value.function}, where ${amount(peak.bytes)} are in use`
      + (peak.of_the_plan ? "" : " (another function has the plan's peak)")],
    ...(value.prices ? ["keep", "recompute", "offload"].map((d) => priceRow(d, value.prices[d], value.chosen)) : []),
    ...(value.reason ? [["because", value.reason]] : [])];
}

function stateRows(state) {
  const layout = (l) => typeof l === "string" ? l : `part of [${l.whole}] over ${l.axis}=${l.parts}`;
  const time = (g) => g.persistent ? "always (it adds up in a state)" : `launches ${g.from} to ${g.to}`;
  const turns = (f, key, label) => f[key].map((turn) => [label, `${f.name}  ${turnText(turn)}`]);
  return [
    ...state.copies.map((c) => [c.role, `${c.state}, ${c.type}, ${bytesText(c.bytes)}, ${c.memory} memory at ${c.offset}, ${layout(c.layout)}`]),
    ...state.gradients.map((g) => ["gradient", `${g.function}, ${g.type}, ${bytesText(g.bytes)}, complete after launch ${g.complete_after}, in memory ${time(g)}`]),
    ...state.functions.flatMap((f) => [...turns(f, "gathers", "gathered by"), ...turns(f, "readers", "read by"), ...turns(f, "writers", "updated by")]),
    ["recompute", "a state cannot be computed again"],
    ...state.offload.map((o) => ["offload", `${o.option} frees ${amount(o.bytes)} and adds at most ${secondsText(o.seconds)}${o.chosen ? " (the plan)" : ""}`]),
    ...state.shard.map((s) => [`--zero ${s.zero}`, `a rank holds ${bytesText(s.state_bytes)} of states, sends at most ${s.elements_sent_at_most} elements a step${s.chosen ? " (the plan)" : ""}`])];
}

function showWhy(range, name, launch) {
  const answers = answersAt(range, name, launch);
  el("why-section").hidden = false;
  el("why-title").textContent = `Why ${range.name}`;
  el("why-hint").textContent = answers.map((answer) => `kedge why MODEL '${answer.tensor}': ${answer.meaning}`).join("; ")
    || (plan.answers ? "bytes that a launch or a copy works in: no value of the plan" : "this page was made of a saved plan: kedge plan MODEL --report FILE.html answers");
  fill(el("why"), ["", ""], answers.flatMap((answer) => answer.state ? stateRows(answer.state) : answer.values.flatMap(valueRows)));
}
