"""What `await` makes of the value of a tool call that was waited for where it was made."""


async def given(value):
    return value
