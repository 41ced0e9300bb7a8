from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.models import User


class SettingsForm(forms.ModelForm):
    class Meta:
        model = User
        fields = ("name", "language", "mails_presence", "mails_verification")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            if isinstance(field, forms.BooleanField):
                field.label_suffix = ""  # the box stands before its words


class DeleteForm(forms.Form):
    """The address typed once more, so that nothing is deleted by one click."""

    email = forms.EmailField(
        label=_("Your e-mail address, to confirm"),
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )

    def __init__(self, *args: object, user: User, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.user = user

    def clean_email(self) -> str:
        email = self.cleaned_data["email"]
        if email.casefold() != self.user.email.casefold():
            raise ValidationError(_("This is not the address of your account."))
        return email
