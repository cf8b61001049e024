"""One module a screen: pure functions from a `View` and a size to lines; they never touch a widget or a clock."""
