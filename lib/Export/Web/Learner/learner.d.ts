// What KEDGE_NAME.mjs has, and the global KEDGE_NAME of KEDGE_NAME.js.
type Values = ArrayLike<number> | ArrayLike<bigint>;

KEDGE_ROWS
export interface Rates {
  lr: number; beta1: number; beta2: number; eps: number; weight_decay: number; momentum: number; clip_norm: number; seed: bigint;
}
/** gradNorm: of all gradients together, before they are clipped; NaN where there are none. */
export interface Result { loss: number; gradNorm: number; }
export interface Step extends Result { step: number; }
export interface TrainOptions { steps: number; signal?: AbortSignal; onStep?: (step: Step) => void; }
export interface Tensor { name: string; type: string; shape: number[]; }
export type Source = string | URL | Response | BufferSource | WebAssembly.Module;

/** What the program tells of itself. */
export const model: {
  name: string; batch: number; kept: number; arena: number; fingerprint: string; rates: Record<string, number>;
  inputs: (Tensor & { labels?: boolean; lo?: number; hi?: number })[]; outputs: Tensor[]; tensors: (Tensor & { offset: number })[];
};

export class Learner {
  private constructor();
  /** From KEDGE_NAME.wasm beside this file, or from `source`. */
  static load(source?: Source): Promise<Learner>;
  readonly batch: number;
  readonly steps: number;
  readonly memory: number;
  readonly tensors: Tensor[];
  get rates(): Rates;
  set rates(given: Partial<Rates>);
  step(rows: Rows): Result;
  evaluate(rows: Rows): { loss: number };
  predict(rows: Features): Outputs;
  train(data: Rows, options: TrainOptions): Promise<Step>;
  tensor(name: string): Values;
  setTensor(name: string, values: Values): void;
  safetensors(): Uint8Array;
  save(): Uint8Array;
  restore(bytes: Uint8Array | ArrayBuffer): void;
}

export interface WorkerLearner {
  steps(): Promise<number>;
  rates(): Promise<Rates>;
  setRates(rates: Partial<Rates>): Promise<void>;
  step(rows: Rows): Promise<Result>;
  evaluate(rows: Rows): Promise<{ loss: number }>;
  predict(rows: Features): Promise<Outputs>;
  train(data: Rows, options: TrainOptions): Promise<Step>;
  tensor(name: string): Promise<Values>;
  setTensor(name: string, values: Values): Promise<void>;
  safetensors(): Promise<Uint8Array>;
  save(): Promise<Uint8Array>;
  restore(bytes: Uint8Array | ArrayBuffer): Promise<void>;
  close(): void;
}
/** In a worker of its own; the worker's code comes from a blob: address. */
export function inWorker(source?: Source): Promise<WorkerLearner>;

/** Bytes by name in the browser's IndexedDB. */
export const store: {
  put(name: string, bytes: Uint8Array): Promise<unknown>;
  get(name: string): Promise<Uint8Array | undefined>;
  delete(name: string): Promise<unknown>;
  names(): Promise<string[]>;
};
