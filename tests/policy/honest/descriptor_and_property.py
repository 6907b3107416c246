class Positive:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        return instance.__dict__.get(self.name, 0)

    def __set__(self, instance, value):
        if value <= 0:
            raise ValueError(f"{self.name[1:]} must be positive")
        instance.__dict__[self.name] = value


class Product:
    price = Positive()
    amount = Positive()

    def __init__(self, name, price, amount=1):
        self.name, self.price, self.amount = name, price, amount

    @property
    def total(self):
        return self.price * self.amount

    @total.setter
    def total(self, value):
        self.price = value / self.amount

    @total.deleter
    def total(self):
        self.amount = 1

    def __getattr__(self, name):
        if name.startswith("get_"):
            return lambda: self.__dict__.get("_" + name[4:])
        raise AttributeError(f"{type(self).__name__} has no {name}")


p = Product("pen", 2, 5)
p.total = 20
print(p.total, p.price, p.get_price(), getattr(p, "missing", "default"), hasattr(p, "name"))
del p.total
print(p.amount, p.__dict__)
try:
    p.price = -1
except ValueError as error:
    print(error)
try:
    p.nothing
except AttributeError as error:
    print(error)
