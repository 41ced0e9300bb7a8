from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.keys.create import MAX_DAYS, MAX_NAME
from accounts.keys.rotate import MAX_OVERLAP_HOURS
from accounts.keys.scopes import Scope
from accounts.models import User
from portal.listings.edit import EDITABLE
from portal.models import Coordinator, State


class ListingForm(forms.ModelForm):
    """What an operator says of a coordinator; saving is the verbs' business."""

    class Meta:
        model = Coordinator
        fields = EDITABLE
        widgets = {
            name: forms.Textarea(attrs={"rows": 4}) for name in ("description", "data_source")
        }
        help_texts = {
            "slug": _("Part of the address of its page; only a draft's can be changed."),
            "languages": _("Codes separated by commas, such as tr,en."),
            "contact": _("Shown to everybody: an address or a page where you are reached."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["slug"].disabled = self.instance.state != State.DRAFT


class KeyForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=MAX_NAME)
    coordinator = forms.ModelChoiceField(
        Coordinator.objects.none(),
        required=False,
        to_field_name="slug",
        label=_("Works for"),
        empty_label=_("all my coordinators"),
    )
    scopes = forms.MultipleChoiceField(
        label=_("May"),
        choices=Scope.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=[Scope.HEARTBEAT_WRITE],
    )
    days = forms.IntegerField(
        label=_("Expires after days"), min_value=1, max_value=MAX_DAYS, initial=MAX_DAYS
    )

    def __init__(self, *args: Any, owner: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["coordinator"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = Coordinator.objects.filter(operator=owner)


class RotationForm(forms.Form):
    overlap_hours = forms.IntegerField(
        label=_("Hours for which the old key works on"),
        min_value=0,
        max_value=MAX_OVERLAP_HOURS,
        initial=24,
    )
