import enum
import logging
import uuid

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
logger = logging.getLogger(__name__)


class State(enum.Enum):
    NEW = "new"
    OPEN = enum.auto()
    CLOSED = enum.auto()


class Account:
    transitions = {State.NEW: {State.OPEN}, State.OPEN: {State.CLOSED}, State.CLOSED: set()}

    def __init__(self, owner):
        self.id = uuid.uuid4()
        self.owner = owner
        self.__state = State.NEW
        self.__history = []

    @property
    def state(self):
        return self.__state

    @state.setter
    def state(self, new):
        if new not in self.transitions[self.__state]:
            raise ValueError(f"cannot go from {self.__state.name} to {new.name}")
        self.__history.append((self.__state, new))
        logger.info("%s: %s -> %s", self.owner, self.__state, new)
        self.__state = new

    def __str__(self):
        return f"<{type(self).__name__} {self.owner} {self.state.name.lower()}>"


account = Account("Ann")
account.state = State.OPEN
try:
    account.state = State.NEW
except ValueError as e:
    logger.warning("refused: %s", e)
finally:
    account.state = State.CLOSED
print(account, list(State.__members__))
