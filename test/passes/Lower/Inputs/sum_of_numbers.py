"""A cluster that adds N numbers, each a tensor of its own: sum_of_numbers.py N"""
import sys

count = int(sys.argv[1])
names = [f"%a{i}" for i in range(count)]
types = ", ".join(["tensor<f32>"] * count)
print(f"func.func @f({', '.join(f'{name}: tensor<f32>' for name in names)}) -> tensor<f32> {{")
print(f"  %r = sched.cluster domain [] reduced [] ({', '.join(names)})")
print(f"       maps [{', '.join(['affine_map<() -> ()>'] * count)}] -> [affine_map<() -> ()>] {{")
print(f"    ^bb0({', '.join(f'%x{i}: f32' for i in range(count))}):")
for i in range(1, count):
    print(f"      %s{i} = arith.addf %{f's{i - 1}' if i > 1 else 'x0'}, %x{i} : f32")
print(f"      sched.yield %s{count - 1} : f32")
print(f"  }} : ({types}) -> tensor<f32>")
print("  return %r : tensor<f32>")
print("}")
