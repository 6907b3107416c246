s=0
for i in range(1000): s+=i
print(s)
