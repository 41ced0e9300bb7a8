"""Pages about applications: begin, edit, submit, withdraw."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from portal.listings.edit import begin, edit
from portal.listings.errors import Incomplete, Taken
from portal.listings.submit import submit
from portal.listings.withdraw import withdraw
from portal.models import ENDED, Coordinator, State
from portal.panel.forms import ListingForm
from portal.panel.next_step import next_step
from portal.panel.own import REFUSALS, operator_of, own_coordinator, why_not

get_or_post = require_http_methods(["GET", "HEAD", "POST"])


@login_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """All of an operator's coordinators, each with what to do next."""
    own = Coordinator.objects.filter(operator=operator_of(request))
    rows = [(coordinator, next_step(coordinator)) for coordinator in own]
    return render(request, "portal/panel/home.html", {"rows": rows})


@login_required
@require_safe
def overview(request: HttpRequest, slug: str) -> HttpResponse:
    coordinator = own_coordinator(request, slug)
    context = {
        "coordinator": coordinator,
        "step": next_step(coordinator),
        "can_submit": coordinator.state in (State.DRAFT, State.CHANGES_REQUESTED),
        "can_edit": coordinator.state not in (*ENDED, State.SUSPENDED),
        "can_withdraw": coordinator.state not in ENDED,
    }
    return render(request, "portal/panel/overview.html", context)


@login_required
@get_or_post
def new(request: HttpRequest) -> HttpResponse:
    form = ListingForm(request.POST or None)
    if form.is_valid():
        try:
            coordinator = begin(operator_of(request), **form.cleaned_data)
        except ValidationError as error:
            form.add_error(None, error)
        except Taken as error:
            form.add_error(error.field, str(error))
        else:
            return _saved(request, coordinator)
    return render(request, "portal/panel/form.html", {"form": form})


@login_required
@get_or_post
def change(request: HttpRequest, slug: str) -> HttpResponse:
    """The form names the revision that it shows, so that nobody overwrites what they have not
    seen."""
    coordinator = own_coordinator(request, slug)
    form = ListingForm(request.POST or None, instance=own_coordinator(request, slug))
    if form.is_valid():
        seen = request.POST.get("revision", "")
        revision = int(seen) if seen.isascii() and seen.isdigit() else None
        try:
            edit(coordinator, operator_of(request), revision, **form.cleaned_data)
        except ValidationError as error:
            form.add_error(None, error)
        except Taken as error:
            form.add_error(error.field, str(error))
        except REFUSALS as error:
            messages.error(request, why_not(error))
            return redirect("portal:panel-coordinator", coordinator.slug)
        else:
            return _saved(request, coordinator)
    context = {"form": form, "coordinator": coordinator}
    return render(request, "portal/panel/form.html", context)


@login_required
@require_POST
def hand_in(request: HttpRequest, slug: str) -> HttpResponse:
    return _submit(request, own_coordinator(request, slug))


@login_required
@get_or_post
def take_back(request: HttpRequest, slug: str) -> HttpResponse:
    """Withdrawing is for good, so it is asked for first."""
    coordinator = own_coordinator(request, slug)
    if request.method != "POST":
        return render(request, "portal/panel/withdraw.html", {"coordinator": coordinator})
    try:
        withdraw(coordinator, operator_of(request))
        messages.success(request, _("It is withdrawn."))
    except REFUSALS as error:
        messages.error(request, why_not(error))
    return redirect("portal:panel-coordinator", slug)


def _saved(request: HttpRequest, coordinator: Coordinator) -> HttpResponse:
    messages.success(request, _("Your changes are saved."))
    if "submit" in request.POST:
        return _submit(request, coordinator)
    return redirect("portal:panel-coordinator", coordinator.slug)


def _submit(request: HttpRequest, coordinator: Coordinator) -> HttpResponse:
    try:
        submit(coordinator, operator_of(request))
        messages.success(request, _("It is submitted; an admin will read it."))
    except Incomplete as error:
        labels = ListingForm(instance=coordinator).fields
        told = {"fields": ", ".join(str(labels[name].label) for name in error.fields)}
        messages.error(request, _("Before you submit, fill in: %(fields)s.") % told)
        return redirect("portal:panel-edit", coordinator.slug)
    except REFUSALS as error:
        messages.error(request, why_not(error))
    return redirect("portal:panel-coordinator", coordinator.slug)
