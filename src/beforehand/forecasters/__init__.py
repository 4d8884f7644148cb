"""Who says it: forecasters that are asked, their prompts, parsing, leaks and money."""
