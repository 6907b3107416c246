import math
print(math.sqrt(2))
