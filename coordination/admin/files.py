"""What a run keeps on disk."""

from django.contrib import admin

from coordination.admin.base import ReadOnlyAdmin
from coordination.models import Chunk, DataShard, HeldOut, OuterState, Preparation, Snapshot


@admin.register(Snapshot)
class SnapshotAdmin(ReadOnlyAdmin):
    list_display = ("run", "number", "sha256", "size", "created_at", "deleted_at")
    list_filter = ("run",)
    list_select_related = ("run",)


@admin.register(OuterState)
class OuterStateAdmin(ReadOnlyAdmin):
    list_display = ("snapshot", "name", "sha256")
    list_filter = ("snapshot__run",)
    list_select_related = ("snapshot__run",)


@admin.register(DataShard)
class DataShardAdmin(ReadOnlyAdmin):
    list_display = ("run", "index", "rows", "size", "sha256")
    list_filter = ("run",)
    list_select_related = ("run",)


@admin.register(HeldOut)
class HeldOutAdmin(ReadOnlyAdmin):
    list_display = ("run", "language", "rows", "tokens", "bytes", "sha256")
    list_filter = ("run",)
    list_select_related = ("run",)


@admin.register(Preparation)
class PreparationAdmin(ReadOnlyAdmin):
    list_display = ("run", "cleaning", "languages", "prepared_at")
    list_select_related = ("run",)


@admin.register(Chunk)
class ChunkAdmin(ReadOnlyAdmin):
    list_display = ("run", "index", "size", "sha256")
    list_filter = ("run",)
    list_select_related = ("run",)
