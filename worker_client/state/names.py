"""A friendly pseudonym that says nothing about the person or the computer."""

import secrets

ADJECTIVES = (
    "able amber brave brisk calm clear clever cosy curious eager early fair fond free gentle "
    "glad golden green happy hardy honest humble jolly keen kind lively lucky mellow merry mild "
    "modest neat nimble noble patient plain polite proud quick quiet ready rosy sharp silver "
    "snowy steady sunny swift tidy warm wise witty young"
).split()
NOUNS = (
    "acorn almond apple aspen badger beech birch bison cedar cherry clover comet crane daisy "
    "dolphin falcon fern finch fig fox gull hazel heron ibex iris juniper kestrel lark lemon "
    "linden lotus lynx maple marten mint moss oak olive orchid otter owl pine plum poplar quail "
    "raven robin rowan sage seal sparrow stork swan thyme tulip turtle walnut willow wren"
).split()


def draw_name() -> str:
    """Such as ``merry-otter-4831``; about 28 million of them."""
    words = f"{secrets.choice(ADJECTIVES)}-{secrets.choice(NOUNS)}"
    return f"{words}-{secrets.randbelow(9000) + 1000}"
