from rest_framework.pagination import PageNumberPagination


class DirectoryPagination(PageNumberPagination):
    """Pages of 50 over an order without ties, so that none is shown twice or skipped."""

    page_size = 50
