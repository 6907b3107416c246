input = """move 3
turn left
move 4"""

commands = [line.split() for line in input.splitlines()]
x = y = 0
dir = 0
for command, argument in commands:
    if command == "move":
        steps = int(argument)
        match dir % 4:
            case 0:
                y += steps
            case 1:
                x += steps
            case 2:
                y -= steps
            case 3:
                x -= steps
    else:
        dir += -1 if argument == "left" else 1
abs(x) + abs(y)
