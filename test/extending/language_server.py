#!/usr/bin/env python3
"""Opens files as an editor does: language_server.py OP FILE SERVER [WORD...]. Prints what the server finds in FILE, and what it tells where
the first OP stands."""
import json
import pathlib
import subprocess
import sys


class Server:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.requests = 0
        self.request("initialize", processId=None, rootUri=None, capabilities={})

    def send(self, message):
        text = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
        self.process.stdin.flush()

    def receive(self, wanted):
        """The first message for which `wanted` is true."""
        while True:
            line = self.process.stdout.readline()
            if not line:
                sys.exit("the server ended")
            if not line.startswith(b"Content-Length:"):
                continue
            length = int(line.split(b":")[1])
            while self.process.stdout.readline().strip():
                pass
            message = json.loads(self.process.stdout.read(length))
            if wanted(message):
                return message

    def request(self, method, **parameters):
        self.requests += 1
        self.send({"id": self.requests, "method": method, "params": parameters})
        return self.receive(lambda message: message.get("id") == self.requests)["result"]

    def open(self, uri, text):
        document = {"uri": uri, "languageId": "mlir", "version": 1, "text": text}
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        return self.receive(lambda message: message.get("method") == "textDocument/publishDiagnostics")["params"]["diagnostics"]


def main():
    op, path, *command = sys.argv[1:]
    text = pathlib.Path(path).read_text()
    server = Server(command)
    uri = pathlib.Path(path).absolute().as_uri()
    for found in server.open(uri, text):
        print(f"line {found['range']['start']['line'] + 1}: {found['message']}")
    line, row = next((number, row) for number, row in enumerate(text.splitlines()) if op in row)
    told = server.request("textDocument/hover", textDocument={"uri": uri}, position={"line": line, "character": row.index(op)})
    print("hover:", " ".join(told["contents"]["value"].split()) if told else "nothing")
    server.request("shutdown")
    server.send({"method": "exit", "params": {}})
    print("ended with", server.process.wait(20))


main()
