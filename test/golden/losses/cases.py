"""Random cases of the losses: what each output is made of, its labels, and PyTorch's formula. Needs numpy; formulas need torch.

An output is x @ w in some shape, with a parameter w of its own: so one program has all losses, and a gradient for each.
"""
import numpy

ROWS, WIDTH = 12, 5
CLASS_WEIGHTS = [0.5, 2, 3, 1, 0.25, 1.5]


def generator(name):
    return numpy.random.default_rng(list(name.encode()))


class Case:
    def __init__(self, name, loss, shape, labels=None, formula=None, outputs=1, weight=1, more=None, options=()):
        self.name, self.loss, self.shape, self.formula, self.weight = name, loss, list(shape), formula, weight
        self.options = list(options)
        rng = generator(name)
        self.outputs = [name if outputs == 1 else f"{name}_{k}" for k in range(outputs)]
        size = int(numpy.prod(shape))
        self.parameters = {f"w_{output}": rng.normal(size=(WIDTH, size)).astype(numpy.float32) for output in self.outputs}
        self.labels = None if labels is None else labels(rng, (ROWS, *shape))
        self.more = {} if more is None else more(rng)

    def term(self):
        return f"{'+'.join(self.outputs)}={self.loss}" + (f"*{self.weight}" if self.weight != 1 else "")


def numbers(rng, shape):
    return rng.normal(size=shape).astype(numpy.float32)


def yes_or_no(rng, shape):
    return rng.integers(0, 2, shape).astype(numpy.float32)


def classes(rng, shape):
    labels = rng.integers(0, shape[-1], shape[:-1])
    labels.flat[::5] = -100
    return labels


def sequences(rng, shape):
    """Labels without the blank 0, some equal to the one before; rows of 3, 2, 1 and none."""
    labels = rng.integers(1, shape[-1], (ROWS, 3))
    labels[::2, 1] = labels[::2, 0]
    for row in range(ROWS):
        labels[row, 3 - row % 4:] = -100
    return labels


def x_of(rows=ROWS):
    return generator("x").normal(size=(rows, WIDTH)).astype(numpy.float32)


def functional():
    import torch
    return torch, torch.nn.functional


def focal(alpha, gamma):
    def formula(outputs, labels):  # torchvision.ops.sigmoid_focal_loss
        torch, F = functional()
        x, p = outputs[0], torch.sigmoid(outputs[0])
        losses = F.binary_cross_entropy_with_logits(x, labels, reduction="none")
        losses = losses * (1 - (p * labels + (1 - p) * (1 - labels))) ** gamma
        return ((alpha * labels + (1 - alpha) * (1 - labels)) * losses if alpha >= 0 else losses).mean()
    return formula


def dice(outputs, labels, smooth=1e-5):  # monai.losses.DiceLoss(sigmoid=True)
    torch, _ = functional()
    p, places = torch.sigmoid(outputs[0]), list(range(2, labels.dim()))
    shared = (p * labels).sum(places)
    return (1 - (2 * shared + smooth) / (p.sum(places) + labels.sum(places) + smooth)).mean()


def of_torch(name, **options):
    return lambda outputs, labels: getattr(functional()[1], name)(outputs[0], labels, **options)


def quantile(q):
    def formula(outputs, labels):
        torch, _ = functional()
        d = labels - outputs[0]
        return torch.maximum(q * d, (q - 1) * d).mean()
    return formula


def poly(epsilon, weighted=False):
    def formula(outputs, labels):
        torch, F = functional()
        flat, labels = outputs[0].flatten(0, -2), labels.flatten()
        losses = F.cross_entropy(flat, labels, reduction="none")
        known = labels != -100
        p = torch.softmax(flat, -1).gather(1, labels.clamp(min=0)[:, None])[:, 0]
        return (losses + epsilon * (1 - p))[known].mean()
    return formula


def cross_entropy(outputs, labels):
    return functional()[1].cross_entropy(outputs[0].flatten(0, -2), labels.flatten())


def contrastive(temperature=0.05, symmetric=False, normalize=True):
    def formula(outputs, _):  # sentence-transformers' MultipleNegativesRankingLoss; with both directions open_clip's
        torch, F = functional()
        a, b = outputs if len(outputs) == 2 else (outputs[0][0::2], outputs[0][1::2])
        if normalize:
            a, b = F.normalize(a), F.normalize(b)
        logits, places = a @ b.T / temperature, torch.arange(len(a))
        there = F.cross_entropy(logits, places)
        return (there + F.cross_entropy(logits.T, places)) / 2 if symmetric else there
    return formula


def triplet(margin=1.0, swap=False):
    def formula(outputs, _):
        _, F = functional()
        parts = outputs if len(outputs) == 3 else [outputs[0][k::3] for k in range(3)]
        return F.triplet_margin_loss(*parts, margin=margin, swap=swap)
    return formula


def ctc(lengths=None):
    def formula(outputs, labels):
        torch, F = functional()
        steps = outputs[0].shape[1]
        known = (labels != -100).sum(1)
        taken = torch.full((len(labels),), steps) if lengths is None else torch.tensor(lengths)
        return F.ctc_loss(torch.log_softmax(outputs[0], -1).transpose(0, 1), labels.clamp(min=0), taken, known)
    return formula


STEPS = [7, 8, 6, 8, 7, 7, 8, 8, 8, 6, 7, 8]

CASES = [
    Case("focal", "focal", (4,), yes_or_no, focal(0.25, 2)),
    Case("focal_given", "focal:alpha=0.6,gamma=1.5", (4,), yes_or_no, focal(0.6, 1.5), weight=0.5),
    Case("focal_plain", "focal:alpha=-1,gamma=0", (4,), yes_or_no, focal(-1, 0)),
    Case("dice", "dice", (3, 4, 5), yes_or_no, dice),
    Case("huber", "huber", (4,), numbers, of_torch("huber_loss")),
    Case("huber_given", "huber:delta=0.4", (4,), numbers, of_torch("huber_loss", delta=0.4), weight=2),
    Case("smooth", "smooth-l1", (4,), numbers, of_torch("smooth_l1_loss")),
    Case("smooth_given", "smooth-l1:beta=0.3", (2, 3), numbers, of_torch("smooth_l1_loss", beta=0.3)),
    Case("absolute", "smooth-l1:beta=0", (4,), numbers, of_torch("l1_loss")),
    Case("quantile", "quantile:q=0.9", (4,), numbers, quantile(0.9)),
    Case("poly", "poly", (6,), classes, poly(1)),
    Case("poly_given", "poly:epsilon=-0.5", (3, 6), classes, poly(-0.5)),
    Case("classes", "cross-entropy", (6,), classes, cross_entropy, weight=0.25),
    Case("mse", "mse", (3,), numbers, of_torch("mse_loss")),
    Case("binary", "bce-with-logits", (3,), yes_or_no, of_torch("binary_cross_entropy_with_logits")),
    Case("pairs", "contrastive", (8,), None, contrastive()),
    Case("clip", "contrastive:temperature=0.5,symmetric=1", (8,), None, contrastive(0.5, True), outputs=2),
    Case("dots", "contrastive:temperature=4,normalize=0", (8,), None, contrastive(4, False, False), outputs=2),
    Case("triplets", "triplet", (8,), None, triplet()),
    Case("swapped", "triplet:margin=0.7,swap=1", (8,), None, triplet(0.7, True), outputs=3),
    Case("ctc", "ctc:length=3", (8, 6), sequences, ctc()),
    Case("ctc_steps", "ctc:length=3,lengths=1", (8, 6), sequences, ctc(STEPS), more=lambda _: {"input_lengths": numpy.array(STEPS)}),
]


def gradients_of(cases, rows=None, x=None):
    """{'loss': of all, 'w_...': gradients} in double precision."""
    import torch
    inputs = torch.tensor(x_of() if x is None else x, dtype=torch.float64)
    total, parameters = 0, {}
    for case in cases:
        own = {name: torch.tensor(value, dtype=torch.float64, requires_grad=True) for name, value in case.parameters.items()}
        outputs = [(inputs @ value).reshape(len(inputs), *case.shape) for value in own.values()]
        labels = None if case.labels is None else torch.tensor(case.labels)
        if labels is not None and labels.dtype == torch.float32:
            labels = labels.double()
        total = total + case.weight * case.formula(outputs, labels)
        parameters |= own
    total.backward()
    return {"loss": total.item()} | {name: value.grad.numpy() for name, value in parameters.items()}
