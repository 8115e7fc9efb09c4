/* main: the program. Everything is in commands.c. */
#include "app/command.h"

int main(int argc, char **argv)
{
    return wb_commands_main(argc, argv);
}
