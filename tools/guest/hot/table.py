d = {i: i * i for i in range(50)}
d
