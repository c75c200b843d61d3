#!/usr/bin/env python3
"""Runs a command whose files end at KIBIBYTES, as on a full disk: limited.py KIBIBYTES COMMAND..."""
import os
import resource
import signal
import sys

limit = int(sys.argv[1]) * 1024
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # write() fails, as it does on a full disk
os.execvp(sys.argv[2], sys.argv[2:])
