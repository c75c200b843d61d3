"""Random cases of losses over rows of tokens, as TRL defines them: preferences, rewards and policy gradients. Needs numpy;
formulas need torch.

Rows 2 i and 2 i + 1 are a chosen row and a rejected one. The inputs beside the labels are one set for all cases of a program.
"""
import numpy
from cases import ROWS, WIDTH, Case, functional, generator, x_of

TOKENS, WORDS = 5, 6


def labels(rng, shape):
    found = rng.integers(0, shape[-1], shape[:-1])
    found[::3, :2] = -100  # a prompt
    found[1, 4] = -100
    return found


def labels_of_old(rng, shape):
    return labels(generator("policy labels"), shape)


def mask():
    found = generator("mask").integers(0, 5, (ROWS, TOKENS)) > 0
    found[4] = False
    found[4, 3] = True
    return found.astype(numpy.float32)


def logs_of(outputs, targets):
    """Of each token, 0 where it does not count, and which count."""
    torch, _ = functional()
    known = targets != -100
    logs = torch.log_softmax(outputs, -1).gather(2, targets.clamp(min=0)[..., None])[..., 0]
    counted = known.double() * torch.tensor(mask(), dtype=torch.float64)
    return logs * counted, counted


def halves(rows):
    return rows[0::2], rows[1::2]


def reference():
    return generator("reference").normal(-7, 1.5, ROWS).astype(numpy.float32)


def logistic(x, smoothing=0.0):
    _, F = functional()
    return -F.logsigmoid(x) * (1 - smoothing) - F.logsigmoid(-x) * smoothing


def means(logs, counted):
    return logs.sum(1) / counted.sum(1).clamp(min=1)


def dpo(beta=0.1, smoothing=0.0):
    def formula(outputs, targets):
        torch, _ = functional()
        logs, _ = logs_of(outputs[0], targets)
        chosen, rejected = halves(logs.sum(1) - torch.tensor(reference(), dtype=torch.float64))
        return logistic(beta * (chosen - rejected), smoothing).mean()
    return formula


def ipo(beta=0.1):
    def formula(outputs, targets):
        torch, _ = functional()
        logs, counted = logs_of(outputs[0], targets)
        against = torch.tensor(reference(), dtype=torch.float64) / counted.sum(1)
        chosen, rejected = halves(means(logs, counted) - against)
        return ((chosen - rejected - 1 / (2 * beta)) ** 2).mean()
    return formula


def orpo(beta=0.1):
    def formula(outputs, targets):
        torch, F = functional()
        chosen, rejected = halves(means(*logs_of(outputs[0], targets)))
        odds = chosen - rejected - (torch.log1p(-torch.exp(chosen)) - torch.log1p(-torch.exp(rejected)))
        likelihood = F.cross_entropy(outputs[0][0::2].flatten(0, 1), targets[0::2].flatten())
        return likelihood - (beta * F.logsigmoid(odds)).mean()
    return formula


def simpo(beta=0.1, gamma=0.5, smoothing=0.0):
    def formula(outputs, targets):
        chosen, rejected = halves(means(*logs_of(outputs[0], targets)))
        return logistic(beta * (chosen - rejected - gamma / beta), smoothing).mean()
    return formula


GOOD = [1, 0, -1, 1, 1, -1, 0, 0, 1, -1, 0, 1]


def kto(beta=0.1, desirable=1.0, undesirable=1.0):
    def formula(outputs, targets):
        torch, _ = functional()
        logs, _ = logs_of(outputs[0], targets)
        ratios, good = logs.sum(1) - torch.tensor(reference(), dtype=torch.float64), torch.tensor(GOOD)
        kl = ratios[good == -1].mean().clamp(min=0).detach()
        chosen = 1 - torch.sigmoid(beta * (ratios[good == 1] - kl))
        rejected = 1 - torch.sigmoid(beta * (kl - ratios[good == 0]))
        return torch.cat([desirable * chosen, undesirable * rejected]).mean()
    return formula


def reward(center=0.0):
    def formula(outputs, _):
        chosen, rejected = halves(outputs[0].flatten())
        return (logistic(chosen - rejected) + center * (chosen + rejected) ** 2).mean()
    return formula


def log_softmax(x):
    shifted = x - x.max(-1, keepdims=True)
    return shifted - numpy.log(numpy.exp(shifted).sum(-1, keepdims=True))


def policy_logs(parameters, targets, name, deviation):
    """As a policy near this one says: ratios on both sides of the bounds."""
    logits = (x_of().astype(float) @ parameters).reshape(ROWS, TOKENS, WORDS)
    logs = numpy.take_along_axis(log_softmax(logits), numpy.maximum(targets, 0)[..., None], 2)[..., 0]
    return (logs + generator(name).normal(0, deviation, logs.shape)).astype(numpy.float32)


def policy_parameters():
    return generator("policy").normal(size=(WIDTH, TOKENS * WORDS)).astype(numpy.float32)


ADVANTAGES = generator("advantages").normal(size=(ROWS, TOKENS)).astype(numpy.float32)
POLICY_LABELS = labels_of_old(None, (ROWS, TOKENS, WORDS))
OLD = policy_logs(policy_parameters(), POLICY_LABELS, "old", 0.3)
REFERENCE_TOKENS = policy_logs(policy_parameters(), POLICY_LABELS, "reference tokens", 0.5)


def policy(low, high, beta, mean):
    def formula(outputs, targets):
        torch, _ = functional()
        logs, counted = logs_of(outputs[0], targets)
        old, against, advantages = (torch.tensor(value, dtype=torch.float64) for value in (OLD, REFERENCE_TOKENS, ADVANTAGES))
        ratios = torch.exp(logs - old * counted)
        losses = -torch.min(ratios * advantages, ratios.clamp(1 - low, 1 + high) * advantages)
        ahead = against * counted - logs
        losses = losses + beta * (torch.exp(ahead) - ahead - 1)
        return mean(losses * counted, counted)
    return formula


def of_rows(losses, counted):
    return means(losses, counted).mean()


def of_tokens(losses, counted):
    return losses.sum() / counted.sum()


TEACHER = generator("teacher").normal(size=(ROWS, TOKENS, WORDS)).astype(numpy.float32)


def distillation(beta, temperature=1):
    """Liger's and TRL's generalized Jensen-Shannon divergence; its ends are the two KL divergences."""
    def formula(outputs, _):
        torch, F = functional()
        student, teacher = (torch.log_softmax(x / temperature, -1) for x in (outputs[0], torch.tensor(TEACHER, dtype=torch.float64)))
        away = lambda of, other: F.kl_div(other, of, reduction="none", log_target=True).sum(-1)
        if beta in (0, 1):
            losses = away(teacher, student) if beta == 0 else away(student, teacher)
        else:
            mixed = torch.log(beta * teacher.exp() + (1 - beta) * student.exp())
            losses = beta * away(teacher, mixed) + (1 - beta) * away(student, mixed)
        counted = torch.tensor(mask(), dtype=torch.float64)
        return (losses * counted).sum() / counted.sum()
    return formula


def teacher_case(name, loss, formula):
    return Case(name, loss, (TOKENS, WORDS), None, formula, more=shared({"teacher_logits": TEACHER}))


def shared(more):
    return lambda _: {"loss_mask": mask()} | more


def policy_case(name, loss, formula, beta=0):
    more = {"old_logps": OLD, "advantages": ADVANTAGES} | ({"ref_logps": REFERENCE_TOKENS} if beta else {})
    case = Case(name, loss, (TOKENS, WORDS), labels_of_old, formula, more=shared(more))
    case.parameters = {f"w_{name}": policy_parameters()}
    return case


def preference_case(name, loss, formula, more, weight=1):
    return Case(name, loss, (TOKENS, WORDS), labels, formula, weight=weight, more=shared(more))


REFERENCE = {"ref_logps": reference()}
PREFERENCES = [
    preference_case("dpo", "dpo", dpo(), REFERENCE),
    preference_case("dpo_smoothed", "dpo:beta=0.7,label_smoothing=0.2", dpo(0.7, 0.2), REFERENCE, weight=0.5),
    preference_case("ipo", "ipo:beta=0.3", ipo(0.3), REFERENCE),
    preference_case("orpo", "orpo", orpo(), {}),
    preference_case("orpo_given", "orpo:beta=2", orpo(2), {}, weight=2),
    preference_case("simpo", "simpo", simpo(), {}),
    preference_case("simpo_given", "simpo:beta=2,gamma=1,label_smoothing=0.1", simpo(2, 1, 0.1), {}),
    preference_case("kto", "kto", kto(), REFERENCE | {"good": numpy.array(GOOD)}),
    preference_case("kto_weighted", "kto:beta=0.5,desirable=1.5,undesirable=0.7", kto(0.5, 1.5, 0.7), REFERENCE | {"good": numpy.array(GOOD)}),
    Case("reward", "reward", (1,), None, reward()),
    Case("reward_centred", "reward:center=0.01", (1,), None, reward(0.01)),
]
POLICIES = [
    policy_case("grpo", "grpo", policy(0.2, 0.2, 0, of_rows)),
    policy_case("grpo_kl", "grpo:epsilon=0.1,beta=0.04", policy(0.1, 0.1, 0.04, of_rows), 0.04),
    policy_case("ppo", "ppo-clip", policy(0.2, 0.2, 0, of_tokens)),
    policy_case("dapo", "dapo", policy(0.2, 0.28, 0, of_tokens)),
    teacher_case("kl", "kl", distillation(0)),
    teacher_case("kl_warm", "kl:temperature=2", distillation(0, 2)),
    teacher_case("reverse", "reverse-kl:temperature=0.7", distillation(1, 0.7)),
    teacher_case("js", "js", distillation(0.5)),
    teacher_case("js_given", "js:beta=0.1,temperature=3", distillation(0.1, 3)),
    policy_case("dapo_kl", "dapo:epsilon_high=0.4,beta=0.1", policy(0.2, 0.4, 0.1, of_tokens), 0.1),
]
