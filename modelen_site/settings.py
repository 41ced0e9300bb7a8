"""Every setting, chosen by environment variables alone; docs/settings.md explains each.

With no variable set this is the embedded default: SQLite, Celery and live pages inside one process,
on loopback. Naming a secret, hosts, a database or Redis makes it a public site, which refuses to
start on a weak secret or without hosts.
"""

import hashlib
import hmac
import os
from pathlib import Path
from typing import Any

import dj_database_url
from django.core.exceptions import ImproperlyConfigured
from kombu import Queue

from modelen_site import environment, mail_server, providers
from modelen_site.every import Every

BASE_DIR = Path(__file__).resolve().parent.parent

# --- Where state lives ---------------------------------------------------------------------------
MODELEN_VAR = environment.folder("MODELEN_VAR", BASE_DIR / "var")
BLOB_ROOT = MODELEN_VAR / "blobs"
UPLOAD_ROOT = MODELEN_VAR / "uploads"
DISK_RESERVE_BYTES = environment.number("MODELEN_DISK_RESERVE_BYTES", 2**30)
# A whole Qwen-format upload is 40 MB; models from scratch beyond this size arrive in chunks.
MAX_BODY_BYTES = environment.number("MODELEN_MAX_BODY_BYTES", 256 * 2**20)

# --- Which kind of installation this is ----------------------------------------------------------
DEBUG = environment.flag("MODELEN_DEBUG")
REDIS_URL = os.environ.get("REDIS_URL", "")
MODELEN_EMBEDDED = not REDIS_URL
_PUBLIC_NAMES = ("MODELEN_SECRET_KEY", "MODELEN_ALLOWED_HOSTS", "DATABASE_URL", "REDIS_URL")
MODELEN_PUBLIC = not DEBUG and any(os.environ.get(name) for name in _PUBLIC_NAMES)
_HTTPS = MODELEN_PUBLIC and environment.flag("MODELEN_HTTPS", default=True)
MODELEN_BEHIND_PROXY = environment.flag("MODELEN_BEHIND_PROXY")
# How many entries at the end of X-Forwarded-For were not written by the client.
TRUSTED_PROXIES = environment.number("MODELEN_PROXY_COUNT", int(MODELEN_BEHIND_PROXY))

# Pseudonyms that one address may register in an hour and a run; a class room has one address.
REGISTRATIONS_PER_HOUR = environment.number("MODELEN_REGISTRATIONS_PER_HOUR", 60)

# How long audit rows say from which address and with which program something was done.
AUDIT_ORIGIN_DAYS = environment.number("MODELEN_AUDIT_ORIGIN_DAYS", 90)

# Where security.txt tells people to report vulnerabilities.
SECURITY_CONTACTS = environment.contacts("MODELEN_SECURITY_CONTACT")

# What Prometheus shows at /metrics; without it there is no such address.
METRICS_TOKEN = environment.token("MODELEN_METRICS_TOKEN")

# How often coordinators are asked to send a heartbeat.
HEARTBEAT_SECONDS = max(1, environment.number("MODELEN_HEARTBEAT_SECONDS", 60))

# Embedded mode merges in one thread, so an unfinished merge is nobody's: take it up at once.
MERGE_CLAIM_SECONDS = environment.number(
    "MODELEN_MERGE_CLAIM_SECONDS", 0 if MODELEN_EMBEDDED else 300
)
# How often what a crash or a lost message left half-way is looked for.
RECONCILE_SECONDS = max(
    1, environment.number("MODELEN_RECONCILE_SECONDS", 2 if MODELEN_EMBEDDED else 10)
)

# --- Secrets and hosts ---------------------------------------------------------------------------
_given_secret = os.environ.get("MODELEN_SECRET_KEY", "")
SECRET_KEY = (
    environment.check_secret(_given_secret)
    if MODELEN_PUBLIC or _given_secret
    else environment.kept_secret(MODELEN_VAR / "secret_key")
)
SECRET_KEY_FALLBACKS = environment.words("MODELEN_SECRET_KEY_FALLBACKS")
_lease_secret = os.environ.get("MODELEN_LEASE_SECRET", "")
LEASE_SECRET = (
    environment.check_secret(_lease_secret).encode()
    if _lease_secret
    else hmac.digest(SECRET_KEY.encode(), b"modelen lease keys v1", hashlib.sha256)
)
# What encrypts second factors, the newest first; the others still decrypt.
_mfa_secret = os.environ.get("MODELEN_MFA_SECRET", "")
SECOND_FACTOR_SECRETS = [
    *([environment.check_secret(_mfa_secret)] if _mfa_secret else []),
    SECRET_KEY,
    *SECRET_KEY_FALLBACKS,
]
_LOOPBACK_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
ALLOWED_HOSTS = environment.words(
    "MODELEN_ALLOWED_HOSTS", default=[] if MODELEN_PUBLIC else _LOOPBACK_HOSTS
)
if MODELEN_PUBLIC and not ALLOWED_HOSTS:
    raise ImproperlyConfigured(
        "MODELEN_ALLOWED_HOSTS is empty; name the hosts this site answers to, "
        "for example MODELEN_ALLOWED_HOSTS=modelen.example.org"
    )
CSRF_TRUSTED_ORIGINS = environment.words("MODELEN_CSRF_TRUSTED_ORIGINS")

# --- Where the portal looks for coordinators -----------------------------------------------------
# Development only: coordinators on this computer, by http, literal address and any port.
MODELEN_TRUST_LOOPBACK = environment.flag("MODELEN_TRUST_LOOPBACK")
MODELEN_DENIED_NETWORKS = environment.networks("MODELEN_DENIED_NETWORKS")

# --- Applications --------------------------------------------------------------------------------
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "csp",
    "rest_framework",
    "drf_spectacular",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.usersessions",
    "modelen_site",
    "accounts",
    "portal",
    "apiv1",
    "coordination",
]
MIDDLEWARE = [
    "accounts.origin.KnowOrigin",
    "apiv1.middleware.Problems",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "modelen_site.policies.PermissionsPolicy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "accounts.staff.StaffNeedSecondFactor",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "modelen_site.urls"
ASGI_APPLICATION = "modelen_site.asgi.application"
WSGI_APPLICATION = "modelen_site.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "accounts.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# --- Sign-in -------------------------------------------------------------------------------------
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/panel/"
ACCOUNT_LOGOUT_REDIRECT_URL = "home"
ACCOUNT_ADAPTER = "accounts.adapter.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
# Only with mandatory verification can a sign-up form keep secret who has an account.
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_PREVENT_ENUMERATION = True
# Else anybody could have mail sent to anybody.
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = "[Modelen] "
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if _HTTPS else "http"
MFA_ADAPTER = "accounts.second_factor.MFAAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "Modelen"
# One step of 30 s either way, for telephones whose clock is not quite right.
MFA_TOTP_TOLERANCE = 1
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not _HTTPS
# Without it the key of a rate limit is a header that the client writes.
ALLAUTH_TRUSTED_PROXY_COUNT = TRUSTED_PROXIES
STAFF_NEED_SECOND_FACTOR = environment.flag("MODELEN_STAFF_SECOND_FACTOR", default=True)
if MODELEN_PUBLIC and not STAFF_NEED_SECOND_FACTOR:
    raise ImproperlyConfigured(
        "MODELEN_STAFF_SECOND_FACTOR=0 is for a site on this computer alone; "
        "leave it out on a public site"
    )
SOCIALACCOUNT_PROVIDERS = providers.configured()
INSTALLED_APPS += [f"allauth.socialaccount.providers.{name}" for name in SOCIALACCOUNT_PROVIDERS]
SOCIALACCOUNT_EMAIL_VERIFICATION = "mandatory"
# An address that somebody else's site calls verified must not open an account here.
SOCIALACCOUNT_EMAIL_AUTHENTICATION = False
SOCIALACCOUNT_LOGIN_ON_GET = False
SOCIALACCOUNT_STORE_TOKENS = False

# --- Mail ----------------------------------------------------------------------------------------
_mail = mail_server.parse(os.environ.get("EMAIL_URL") or "console:")
EMAIL_BACKEND = _mail.backend
EMAIL_HOST, EMAIL_PORT = _mail.host, _mail.port
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _mail.user, _mail.password
EMAIL_USE_TLS, EMAIL_USE_SSL = _mail.starttls, _mail.tls
# Mail leaves within a request, which must not hang on a server that is away.
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = os.environ.get("MODELEN_MAIL_FROM") or "Modelen <modelen@localhost>"
SERVER_EMAIL = DEFAULT_FROM_EMAIL

# --- Database ------------------------------------------------------------------------------------
_database = dict(
    dj_database_url.parse(
        os.environ.get("DATABASE_URL") or f"sqlite:///{MODELEN_VAR / 'db.sqlite3'}"
    )
)
# A connection kept between requests leaks under ASGI, where each request has its own thread.
_database["CONN_MAX_AGE"] = 0
if _database["ENGINE"].endswith("sqlite3"):
    Path(str(_database["NAME"])).parent.mkdir(parents=True, exist_ok=True)
    _database["OPTIONS"] = {
        # Read-then-write transactions fail at once, whatever the timeout, unless they say so first.
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        # FULL: a row that names a file must not be lost in a power cut after it was answered for.
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
    }
    # A file, not memory: tests use threads and processes.
    _database["TEST"] = {"NAME": MODELEN_VAR / "test.sqlite3"}
else:
    _database["OPTIONS"] = {**_database.get("OPTIONS", {}), "pool": True}
    # Else every connection in the pool fails one request after PostgreSQL was restarted.
    _database["CONN_HEALTH_CHECKS"] = True
DATABASES: dict[str, Any] = {"default": _database}

# --- Redis, or memory when everything is in one process ------------------------------------------
if REDIS_URL:
    CACHES: dict[str, Any] = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": REDIS_URL,
            "KEY_PREFIX": "modelen",
        }
    }
    CHANNEL_LAYERS: dict[str, Any] = {
        "default": {
            "BACKEND": "channels_redis.core.RedisChannelLayer",
            "CONFIG": {"hosts": [REDIS_URL], "prefix": "modelen"},
        }
    }
else:
    CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}

# --- Celery --------------------------------------------------------------------------------------
CELERY_BROKER_URL = REDIS_URL or "memory://localhost/"
CELERY_BROKER_TRANSPORT_OPTIONS = (
    # kombu's default of 1 s is what each task would wait in memory.
    {"polling_interval": 0.05}
    if MODELEN_EMBEDDED
    # Longer than the longest task: Redis hands an unacknowledged task out again after this.
    else {"visibility_timeout": 4 * 3600}
)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# However long Redis stays away: Celery's own default is to give up after a hundred tries.
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TIMEZONE = "UTC"
# Acknowledged on receipt: a task lost with its worker is found by the reconciler, whereas a task
# handed out again and again could take every worker down.
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# A check waits up to 10 s for a stranger's host and samples take a processor for minutes, as does
# a text that is mixed, while a merge or a round's end cannot wait.
CELERY_TASK_QUEUES = [Queue(name, routing_key=name) for name in ("celery", "checks", "samples")]
CELERY_TASK_ROUTES = {
    "portal.tasks.check_address": {"queue": "checks"},
    "coordination.tasks.take_samples": {"queue": "samples"},
    "coordination.tasks.prepare_run": {"queue": "samples"},
}
CELERY_WORKER_MAX_TASKS_PER_CHILD = 50
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_BEAT_SCHEDULE = {
    "reconcile": {
        "task": "coordination.tasks.reconcile",
        "schedule": Every(RECONCILE_SECONDS),
        "options": {"expires": 30},
    },
    "take-samples": {
        "task": "coordination.tasks.take_samples",
        "schedule": Every(15),
        "options": {"expires": 15},
    },
    "schedule-checks": {
        "task": "portal.tasks.schedule_checks",
        "schedule": Every(30),
        "options": {"expires": 30},
    },
    "collect-blobs": {"task": "coordination.tasks.collect_blobs", "schedule": Every(3600)},
    "watch-presence": {
        "task": "portal.tasks.watch_presence",
        "schedule": Every(max(1.0, HEARTBEAT_SECONDS / 4)),
        "options": {"expires": 30},
    },
    "forget-old-uptime": {"task": "portal.tasks.forget_old_uptime", "schedule": Every(3600)},
    "forget-old-evidence": {"task": "portal.tasks.forget_old_evidence", "schedule": Every(3600)},
    "send-own-heartbeats": {
        "task": "modelen_site.tasks.send_own_heartbeats",
        "schedule": Every(max(1.0, HEARTBEAT_SECONDS / 2)),
        "options": {"expires": 30},
    },
    "warn-of-expiry": {"task": "accounts.tasks.warn_of_expiry", "schedule": Every(3600)},
    "forget-old-origins": {"task": "accounts.tasks.forget_old_origins", "schedule": Every(3600)},
}

# --- Language and time ---------------------------------------------------------------------------
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("tr", "Türkçe")]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
TIME_ZONE = "UTC"
USE_TZ = True

# --- Static files --------------------------------------------------------------------------------
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# A public site serves what `collectstatic` gathered; elsewhere files come from where they are.
STATIC_ROOT = (
    environment.folder("MODELEN_STATIC_ROOT", BASE_DIR / "staticfiles") if MODELEN_PUBLIC else None
)
WHITENOISE_USE_FINDERS = not MODELEN_PUBLIC
WHITENOISE_AUTOREFRESH = DEBUG
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if MODELEN_PUBLIC
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}

# --- Security ------------------------------------------------------------------------------------
SECURE_SSL_REDIRECT = _HTTPS
# Probes come from inside, without TLS.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_HSTS_SECONDS = environment.number("MODELEN_HSTS_SECONDS", 365 * 86400) if _HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = _HTTPS
SECURE_HSTS_PRELOAD = _HTTPS
if MODELEN_BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SESSION_COOKIE_SECURE = _HTTPS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = _HTTPS
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        # A sign-in by another site begins with a form of ours that is redirected there.
        "form-action": ["'self'", *providers.origins(SOCIALACCOUNT_PROVIDERS)],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
    }
}

# --- API -----------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["apiv1.parsing.SmallJSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "apiv1.parsing.AlwaysJSON",
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "apiv1.authentication.KeyAuthentication",
        "apiv1.authentication.BrowserSession",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["apiv1.permissions.Scoped"],
    "UNAUTHENTICATED_USER": None,
    "EXCEPTION_HANDLER": "apiv1.problems.problem_handler",
    "DEFAULT_SCHEMA_CLASS": "apiv1.schema.ApiSchema",
    "DEFAULT_THROTTLE_CLASSES": [
        "apiv1.throttles.Anonymous",
        "apiv1.throttles.Reading",
        "apiv1.throttles.Writing",
    ],
    "DEFAULT_THROTTLE_RATES": {"anon": "120/min", "reading": "600/min", "writing": "60/min"},
    # Without it the throttle's key is a header that the client writes.
    "NUM_PROXIES": TRUSTED_PROXIES,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Modelen Portal API",
    "VERSION": "1",
    "DESCRIPTION": (
        "For operators' own scripts and coordinators, and for whoever wants to show the directory. "
        "Errors are application/problem+json; lists are read page by page along `next`."
    ),
    "SCHEMA_PATH_PREFIX": "/api/v1/",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_ADD_EXPLICIT_BLANK_NULL_CHOICE": False,
    "ENUM_NAME_OVERRIDES": {
        "ListingState": "portal.models.State",
        "Proof": "portal.models.Proof",
        "Presence": "portal.models.Presence",
        "Mode": "portal.models.Mode",
        "RunStatus": "portal.models.RunStatus",
        "Trigger": "portal.models.Attempt.Trigger",
        "Scope": "accounts.keys.scopes.Scope",
        "MailLanguage": LANGUAGES,
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "apiv1.schema.add_problem",
    ],
}

# --- Log -----------------------------------------------------------------------------------------
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "redact": {"()": "modelen_site.logs.Redact"},
        "request": {"()": "modelen_site.logs.NameRequest"},
    },
    "formatters": {
        "plain": {
            "()": "modelen_site.logs.PlainFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s%(within)s: %(message)s",
        },
        "json": {"()": "modelen_site.logs.JsonFormatter"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "filters": ["redact", "request"],
            "formatter": "json" if environment.flag("MODELEN_LOG_JSON") else "plain",
        }
    },
    "root": {"handlers": ["stderr"], "level": os.environ.get("MODELEN_LOG_LEVEL", "INFO")},
    "loggers": {
        # Django's own handlers would print each line a second time.
        "django": {"handlers": [], "propagate": True},
        "django.server": {"handlers": [], "propagate": True},
        # Whoever sends a wrong Host is told 400; a traceback for each would be theirs to multiply.
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        # A line per beat and another per task, every two seconds, says nothing.
        "celery": {"level": "WARNING"},
        "daphne": {"level": "WARNING"},
    },
}
