class Node:
    __slots__ = ("value", "next")

    def __init__(self, value, next=None):
        self.value = value
        self.next = next


class LinkedList:
    def __init__(self, items=()):
        self.head = None
        self._size = 0
        for item in reversed(list(items)):
            self.push(item)

    def push(self, value):
        self.head = Node(value, self.head)
        self._size += 1

    def reverse(self):
        previous, current = None, self.head
        while current:
            current.next, previous, current = previous, current, current.next
        self.head = previous
        return self

    def __iter__(self):
        node = self.head
        while node is not None:
            yield node.value
            node = node.next

    def __len__(self):
        return self._size

    def __bool__(self):
        return self._size > 0

    def __getitem__(self, index):
        if isinstance(index, slice):
            return list(self)[index]
        for i, value in enumerate(self):
            if i == index:
                return value
        raise IndexError(index)


items = LinkedList("abcd")
print(list(items.reverse()), items[1], items[1:3], len(items), bool(LinkedList()))
