"""Templates of the configuration, as `-t NAME` uses them. Their search options are part of the loaded
configuration; this is the rest: the prompt and the target."""

from __future__ import annotations

from argparse import Namespace

from groundwire.config.kinds import INPUT
from groundwire.config.schema import Config, TemplateSettings
from groundwire.routing.resolve import AUTO


def template_of(arguments: Namespace, config: Config) -> TemplateSettings:
    """The template of a command line; loading the configuration has checked its name."""
    return config.templates.get(arguments.template, TemplateSettings())


def chosen_target(arguments: Namespace, config: Config) -> tuple[str, str]:
    """Provider and model of the command line, else of the template.

    They are not mixed: a model of one may not exist at the provider of the other.
    """
    chosen = arguments if arguments.provider or arguments.model else template_of(arguments, config)
    return chosen.provider or AUTO, chosen.model


def filled_prompt(template: TemplateSettings, question: str) -> str:
    """The prompt of a template with a question; an empty question stays empty, and is refused as such."""
    if not template.prompt or not question.strip():
        return question
    return template.prompt.replace(INPUT, question)
