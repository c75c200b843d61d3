"""ONNX's multi-device annotations, and small models for them."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def configuration(model, name="pair", devices=2):
    """Declares a device configuration."""
    model.configuration.add(name=name, num_devices=devices)
    model.ir_version = max(model.ir_version, 11)
    return model


def node_of(model, name):
    return next(node for node in model.graph.node if node.name == name)


def entry(model, node, name="pair"):
    """What a node says of a configuration."""
    node = node_of(model, node)
    for own in node.device_configurations:
        if own.configuration_id == name:
            return own
    return node.device_configurations.add(configuration_id=name)


def cut(model, node, tensor, axis, *factors, devices=(0, 1), groups=None, name="pair"):
    """A spec: `tensor` of `node` is cut along `axis`. A factor is num_shards, or (dim_value, num_shards)."""
    spec = entry(model, node, name).sharding_spec.add(tensor_name=tensor, device=devices)
    for key, value in (groups or {}).items():
        spec.index_to_device_group_map.add(key=key, value=value)
    dim = spec.sharded_dim.add(axis=axis)
    for factor in factors or (len(devices),):
        size, shards = factor if isinstance(factor, tuple) else (None, factor)
        one = dim.simple_sharding.add(num_shards=shards)
        if size is not None:
            one.dim_value = size
    return spec


def whole(model, node, tensor, devices=(0, 1), groups=None, name="pair"):
    """A spec: each device has all of `tensor`."""
    spec = entry(model, node, name).sharding_spec.add(tensor_name=tensor, device=devices)
    for key, value in (groups or {}).items():
        spec.index_to_device_group_map.add(key=key, value=value)
    return spec


def stage(model, node, number, name="pair"):
    entry(model, node, name).pipeline_stage = number


def tensor(name, *shape, seed=0):
    values = np.random.default_rng([seed, len(name), *map(ord, name)]).standard_normal(shape) * 0.3
    return numpy_helper.from_array(values.astype(np.float32), name)


def model(nodes, initializers, rows=4, columns=8, out="y", out_shape=None):
    """A graph from x [rows, columns] to `out`."""
    graph = helper.make_graph(
        nodes, "graph", [helper.make_tensor_value_info("x", FLOAT, [rows, columns])],
        [helper.make_tensor_value_info(out, FLOAT, out_shape or [rows, columns])], initializers)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.checker.check_model(made)
    return made


def perceptron(width=12):
    """x -> up -> Relu -> down -> y, with biases."""
    return model([helper.make_node("MatMul", ["x", "up.w"], ["up"], "up"),
                  helper.make_node("Add", ["up", "up.b"], ["hidden"], "up.bias"),
                  helper.make_node("Relu", ["hidden"], ["act"], "relu"),
                  helper.make_node("MatMul", ["act", "down.w"], ["down"], "down"),
                  helper.make_node("Add", ["down", "down.b"], ["y"], "down.bias")],
                 [tensor("up.w", 8, width), tensor("up.b", width), tensor("down.w", width, 8), tensor("down.b", 8)])
