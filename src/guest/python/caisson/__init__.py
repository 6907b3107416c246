"""What code in a cell may use besides the standard library."""


class ToolError(Exception):
    """A tool of the host raised, or could not be called. `type` and `message` say what."""

    def __init__(self, type="ToolError", message=""):
        super().__init__(type, message)
        self.type = type
        self.message = message

    def __str__(self):
        return self.message if self.type == "ToolError" else f"{self.type}: {self.message}"


class ApprovalDenied(ToolError):
    """A person did not allow the call."""

    def __init__(self, message="the call was denied"):
        super().__init__("ApprovalDenied", message)
        self.args = (message,)

    def __str__(self):
        return self.message


class UncertainError(ToolError):
    """Nobody knows whether the call was done: what ran it stopped while it was under way. It is not done again."""

    def __init__(self, message="nobody knows whether the call was done"):
        super().__init__("UncertainError", message)
        self.args = (message,)

    def __str__(self):
        return self.message


# They are builtins of a cell, and print as such.
ToolError.__module__ = ApprovalDenied.__module__ = UncertainError.__module__ = "builtins"
