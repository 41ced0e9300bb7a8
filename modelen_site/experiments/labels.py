"""What people call the settings of an experiment, in the language that is on."""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from modelen_site.experiments.plan import Setting


def labels_of(settings: Sequence[Setting]) -> dict[Setting, str]:
    """A name for each: its arm, and whatever else tells it from that arm's others."""
    return {setting: _label(setting, settings) for setting in settings}


def _label(setting: Setting, settings: Sequence[Setting]) -> str:
    same = [other for other in settings if other.arm == setting.arm]
    parts = {
        "clients": _("%(count)s clients") % {"count": setting.clients},
        "inner_steps": f"H={setting.inner_steps}",
        "encodings": setting.encodings,
        "division": division_name(setting.division),
    }
    varied = [
        text for name, text in parts.items() if len({getattr(other, name) for other in same}) > 1
    ]
    return ", ".join([setting.arm, *varied])


def division_name(division: str) -> str:
    return _("one language each") if division == "language" else _("equal mixture")
