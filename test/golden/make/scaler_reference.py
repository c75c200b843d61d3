#!/usr/bin/env python3
"""Writes what dynamic loss scalers do, for loss_scale.py: scaler_reference.py OUT.json HYSTERESIS MINIMUM.

DeepSpeed's, from its documented rules (fp16: initial_scale_power, loss_scale_window, hysteresis, min_loss_scale): every overflow skips the
step; the first `hysteresis` - 1 of them leave the scale; clean steps since the last overflow are counted, and each window
of them doubles the scale and refills the hysteresis. Gradients are unscaled by the scale that the loss was multiplied by.
With hysteresis 1 and minimum 0 it is PyTorch's GradScaler. The parameters are AdamW's with lr 0.1 and PyTorch's defaults, in f64.
"""
import json
import math
import sys

INJECTED = {0: "inf", 3: "nan", 4: "inf", 5: "-inf", 11: "inf", 12: "inf", 13: "inf", 20: "nan"}
INITIAL, WINDOW = 1024.0, 4


def adamw(w, m, v, g, t, lr=0.1, beta1=0.9, beta2=0.999, eps=1e-8, decay=0.01):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    w = w * (1 - lr * decay) - lr / (1 - beta1**t) * m / (math.sqrt(v) / math.sqrt(1 - beta2**t) + eps)
    return w, m, v


def main():
    hysteresis, minimum = int(sys.argv[2]), float(sys.argv[3])
    scale, counter, left, updates = INITIAL, 0, hysteresis, 0
    state = [(w, 0.0, 0.0) for w in (1.0, -2.0, 3.0)]
    steps = []
    for step in range(24):
        before, injected = scale, INJECTED.get(step)
        if injected:
            scale = max(scale / 2, minimum) if left <= 1 else scale
            counter, left = 0, max(left - 1, 1)
        else:
            updates += 1
            state = [adamw(*one, g, updates) for one, g in zip(state, (0.1, 0.2, -0.3))]
            counter += 1
            if counter == WINDOW:
                scale, counter, left = scale * 2, 0, hysteresis
        steps.append({"step": step, "injected": injected, "scale_before": before, "skipped": bool(injected),
                      "scale_after": scale, "growth_counter": counter, "optimizer_steps": updates,
                      "parameters": [w for w, _, _ in state]})
    options = {"initial_scale": INITIAL, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": WINDOW}
    with open(sys.argv[1], "w") as file:
        json.dump({"options": options, "steps": steps}, file, indent=1)


if __name__ == "__main__":
    main()
