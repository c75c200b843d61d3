"""What programs write: logs and safetensors."""
import json

import numpy as np


def losses_in(log):
    return [json.loads(line)["loss"] for line in log.read_text().splitlines()]


def arrays_in(path):
    """Of a safetensors file in float32."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + at for at in entry["data_offsets"])
            yield name, np.frombuffer(data[begin:end], "<f4").reshape(entry["shape"])
