"""How the book writes a number."""


def number_text(value: float, digits: int = 4) -> str:
    """Write a number as a sentence of the book does.

    Args:
        value: The number; up to a quadrillion it is written without a power of
            ten.
        digits: How many significant digits a fraction gets. All those before
            the point are written.

    >>> number_text(14_464.0), number_text(1234.5), number_text(2 / 3)
    ('14,464', '1,234', '0.6667')
    >>> number_text(9.3e-13), number_text(-1e30)
    ('9.3e-13', '-1e+30')
    """
    if 10**digits - 0.5 <= abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:,.{digits}g}"
