"""What `await` and asyncio.wait make of tool calls."""


async def given(value):
    """Of the value of a call that was waited for where it was made."""
    return value


def tasks(awaitables):
    """asyncio.wait takes tasks alone; a pending call is none."""
    import asyncio

    return [asyncio.ensure_future(one) for one in awaitables]
