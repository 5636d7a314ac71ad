"""Every wrong input gets an error of the library that names the argument.

Each public function is called with valid arguments but for one, drawn from
what is wrong for its kind. A bare message of PyTorch does not count as an
error, and neither does another exception.
"""

import importlib
import inspect
import pkgutil
import re
import traceback
from collections import Counter
from pathlib import Path

import jaxtyping
import pytest
from hypothesis import HealthCheck, given, settings
from valid_calls import CALLS, EXEMPT

import vitedu

DRAWN = settings(
    max_examples=32,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
LIBRARY = str(Path(vitedu.__file__).parent)
ARGUMENTS = [(name, key) for name in CALLS for key in CALLS[name].arguments]


@pytest.fixture(scope="module")
def tried():
    """Count the inputs that were tried, by argument."""
    return Counter()


@pytest.fixture(autouse=True)
def without_shape_checks():
    """Leave it to the library to notice; readers have no shape checks."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def public_objects():
    """Yield every public function, class and method with its name."""
    for info in pkgutil.walk_packages(vitedu.__path__, "vitedu."):
        where = info.name.removeprefix("vitedu.")
        # The traits of widgets refuse, see test_widgets; an exercise judges.
        if info.ispkg or where.startswith(("widgets.", "book.exercises.")):
            continue
        module = importlib.import_module(info.name)
        for name, thing in vars(module).items():
            here = getattr(thing, "__module__", "") == module.__name__
            if name.startswith("_") or not here or not callable(thing):
                continue
            yield f"{where}.{name}", thing
            methods = vars(thing) if inspect.isclass(thing) else {}
            for inner, method in methods.items():
                method = getattr(method, "__func__", method)
                if not inner.startswith("_") and inspect.isfunction(method):
                    yield f"{where}.{name}.{inner}", method


def is_exempt(name):
    return any(name == row or name.startswith(f"{row}.") for row in EXEMPT)


OBJECTS = {
    name: thing for name, thing in public_objects() if not is_exempt(name)
}


@pytest.mark.parametrize("name", OBJECTS)
def test_everything_public_is_called_with_every_argument(name):
    parameters = [
        key
        for key, parameter in inspect.signature(
            OBJECTS[name]
        ).parameters.items()
        if key not in ("self", "cls")
        and parameter.kind
        not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    ]
    if parameters:
        assert name in CALLS, f"{name} needs a row in valid_calls"
        assert set(parameters) <= set(CALLS[name].arguments)


def test_nothing_else_is_listed():
    names = {name for name, _ in public_objects()} | {
        "data.digits.Augment.__call__"
    }
    assert CALLS.keys() <= names
    modules = {name.rpartition(".")[0] for name in names}
    assert EXEMPT.keys() <= names | modules


def refusal(name, key, value):
    """Call with one wrong value; return what is wrong with the answer."""
    function, arguments = CALLS[name]
    given = {k: argument.value for k, argument in arguments.items()}
    try:
        function(**given | {key: value})
    except (TypeError, ValueError) as error:
        where = traceback.extract_tb(error.__traceback__)[-1].filename
        if not where.startswith(LIBRARY):
            return f"a bare error of {where}: {error}"
        words = "|".join(map(re.escape, [key, *arguments[key].named]))
        if not re.search(rf"\b({words})\b", str(error)):
            return f"the message does not name it: {error}"
        if "got" not in str(error):
            return f"the message does not say what came: {error}"
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "it was accepted"


@pytest.mark.parametrize(("name", "key"), ARGUMENTS)
def test_wrong_inputs_are_refused(name, key, tried):
    argument = CALLS[name].arguments[key]

    @DRAWN
    @given(argument.kind(argument.value))
    def each(value):
        tried[name, key] += 1
        answer = refusal(name, key, value)
        assert answer is None, f"{answer}: {name}({key}={value!r})"

    each()


def test_at_least_5000_were_tried(tried):
    if len(tried) < len(ARGUMENTS):
        pytest.skip("needs the tests above, all of them")
    assert sum(tried.values()) >= 5000
