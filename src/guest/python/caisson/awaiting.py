"""Makes tool calls work with `await` and asyncio.wait."""


async def given(value):
    """Makes the value of a finished call awaitable."""
    return value


def tasks(awaitables):
    """asyncio.wait takes only tasks; a pending call is not one."""
    import asyncio

    return [asyncio.ensure_future(one) for one in awaitables]
