"""Values of the leaderboard."""

from django import template
from django.utils.formats import number_format
from django.utils.translation import gettext

register = template.Library()


@register.filter
def percent(share: float) -> str:
    """``share`` (0 to 1) in whole percent, rounded down so that only all is 100."""
    whole = int(100 * share + 1e-9)  # 0.29 * 100 is a little below 29
    return gettext("%(share)s%%") % {"share": number_format(whole, 0)}
