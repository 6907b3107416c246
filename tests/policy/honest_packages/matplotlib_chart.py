import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

x = np.linspace(0, 6.28, 50)
fig, (left, right) = plt.subplots(1, 2, figsize=(6, 3))
left.plot(x, np.sin(x), label="sin")
left.legend()
left.set_title("Waves")
right.bar(["a", "b"], [3, 5], color="tab:orange")
plt.tight_layout()
plt.savefig("/tmp/chart.png", dpi=50)
plt.close(fig)
with open("/tmp/chart.png", "rb") as f:
    print(f.read(8))
