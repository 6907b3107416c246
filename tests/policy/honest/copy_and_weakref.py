import copy
import weakref


class Node:
    def __init__(self, value, parent=None):
        self.value = value
        self.children = []
        self._parent = weakref.ref(parent) if parent else None
        if parent:
            parent.children.append(self)

    @property
    def parent(self):
        return self._parent() if self._parent else None

    def __copy__(self):
        return Node(self.value)

    def __deepcopy__(self, memo):
        clone = Node(copy.deepcopy(self.value, memo))
        clone.children = [copy.deepcopy(c, memo) for c in self.children]
        return clone


root = Node([1])
child = Node([2], root)
clone = copy.deepcopy(root)
clone.value.append(9)
print(root.value, clone.value, child.parent is root, len(clone.children), copy.copy(root).children)
nested = {"a": [1, {"b": 2}]}
shallow, deep = copy.copy(nested), copy.deepcopy(nested)
nested["a"][1]["b"] = 3
print(shallow["a"][1]["b"], deep["a"][1]["b"])
