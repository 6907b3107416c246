"""Signatures and docstrings of the functions for the host's tools."""

import keyword


def make(tool):
    """Returns the inspect.Signature of a tool, from its description in the request."""
    from inspect import Parameter, Signature

    def parameter(name, annotation, presence, default, types, keyword_only):
        kind = Parameter.KEYWORD_ONLY if keyword_only else Parameter.POSITIONAL_OR_KEYWORD
        default = (Parameter.empty, default, ...)[presence]
        return Parameter(name, kind, default=default, annotation=annotation)

    parameters = [
        parameter(*fields)
        for fields in tool["parameters"]
        if fields[0].isidentifier() and not keyword.iskeyword(fields[0])
    ]
    if tool.get("more"):
        parameters.append(Parameter("more", Parameter.VAR_KEYWORD))
    return Signature(parameters, return_annotation=tool.get("returns", Signature.empty))


def annotations(tool):
    found = {fields[0]: fields[1] for fields in tool["parameters"]}
    if "returns" in tool:
        found["return"] = tool["returns"]
    return found
