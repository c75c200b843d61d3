"""What zsh makes of lines when Tab is pressed at their ends: zsh_complete.py COMPLETIONS FOLDER LINE..., in a terminal, with
the completions of the first folder alone; writes its settings to the second."""
import os
import pathlib
import pty
import re
import select
import sys
import time

SETTINGS = """
fpath=({folder} $fpath)
autoload -U compinit && compinit -u -D
unsetopt zle_bracketed_paste
shown() {{ zle -I; print -r -- "<<$BUFFER>>"; BUFFER= }}
zle -N shown
bindkey '^X' shown
PS1='ready> '
"""


def read_until(terminal, wanted, seconds=60):
    text, end = "", time.monotonic() + seconds
    while not (found := re.search(wanted, text)):
        if not select.select([terminal], [], [], max(0, end - time.monotonic()))[0]:
            sys.exit(f"zsh did not show {wanted}: {text!r}")
        text += os.read(terminal, 65536).decode(errors="replace")
    return found, re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|[\r\x07\x08]", "", text)


completions, folder, *lines = sys.argv[1:]
pathlib.Path(folder, ".zshrc").write_text(SETTINGS.format(folder=completions))
pid, terminal = pty.fork()
if pid == 0:
    os.environ.update(TERM="dumb", ZDOTDIR=folder)
    os.execvp("zsh", ["zsh", "-d", "-i"])
read_until(terminal, "ready> ")
for line in lines:
    os.write(terminal, line.encode() + b"\t\x18")  # keys are handled in turn: what Tab did is shown by ^X
    found, text = read_until(terminal, "<<(.*)>>")
    print(f"{line}: {found[1].strip()}", *re.findall(r"^(?!ready|<<|kedge)(.+)$", text, re.M))
os.write(terminal, b"exit\n")
