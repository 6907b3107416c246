"""Names that code in a cell may use in addition to the standard library."""


class ToolError(Exception):
    """A tool of the host raised an error or could not be called. See `type` and `message`."""

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
    """It is unknown whether the call was done: its execution was interrupted. It is not repeated."""

    def __init__(self, message="nobody knows whether the call was done"):
        super().__init__("UncertainError", message)
        self.args = (message,)

    def __str__(self):
        return self.message


# They are builtins of a cell and are shown as such.
ToolError.__module__ = ApprovalDenied.__module__ = UncertainError.__module__ = "builtins"
