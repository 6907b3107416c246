answer = echo("what is the weather?")
print(answer)
answer
