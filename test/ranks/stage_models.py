"""Models that stages of a pipeline once refused, beside one rank: stage_models.py SCRIPTS OUT

A parameter and a buffer of rank 0; two towers with a loss over both in 16 bits; rows of feed-forwards in chunks on stages with a tensor
axis; gradients that a gather of blocks completes, which starts early. The models and the comparison are those of SCRIPTS/compositions.py.
"""
import pathlib
import sys

sys.path.insert(0, sys.argv[1])
import compositions  # noqa: E402

PLAIN = ["--precision", "fp32", "--optimizer", "sgd", "--lr", "0.01"]
LOW = [["--precision", kind, *PLAIN[2:]] for kind in ("bf16", "fp16")]
CASES = [(compositions.scalar, "pipeline=2", PLAIN, []), (compositions.scalar, "pipeline=2", LOW[0], ["--pipeline-schedule", "interleaved=2"]),
         (compositions.towers, "pipeline=2", LOW[0], []), (compositions.towers, "pipeline=2", LOW[1], ["--pipeline-schedule", "gpipe"]),
         (compositions.encoder_decoder, "pipeline=2,tensor=2", PLAIN, ["--feed-forward-chunk", "256"]),
         (compositions.batch_norm, "pipeline=2,tensor=2", PLAIN, ["--feed-forward-chunk", "1KiB"]),
         (compositions.scalar, "tensor=2", ["--precision", "bf16", "--optimizer", "adafactor", "--lr", "0.01"], [])]


def main():
    out, known, wrong = pathlib.Path(sys.argv[2]), {}, 0
    out.mkdir(parents=True, exist_ok=True)
    for model, mesh, common, own in CASES:
        trial = compositions.Trial.__new__(compositions.Trial)
        trial.out, trial.model, trial.name = out, compositions.MODELS.index(model), model.__name__
        trial.mesh, trial.accumulate, trial.common, trial.own = mesh, 2, common, own
        outcome, words = trial.run(known, compile_only=False)
        wrong += outcome != "right"
        print(f"{trial.text()}: {outcome} {words}".rstrip(), flush=True)
    print(f"{len(CASES)} models, {wrong} wrong")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
