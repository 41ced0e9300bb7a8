from django.db import migrations

from accounts.second_factor import renewed


def encrypt(apps, schema_editor):
    """Those from before lie in the clear."""
    for factor in apps.get_model("mfa", "Authenticator").objects.exclude(type="webauthn"):
        factor.data = renewed(factor.data)
        factor.save(update_fields=["data"])


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0002_audit_keys_and_mail"),
        ("mfa", "0003_authenticator_type_uniq"),
    ]

    operations = [migrations.RunPython(encrypt, migrations.RunPython.noop)]
