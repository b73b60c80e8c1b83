import { watchCards } from "./cards.js";
import { watchComposer } from "./composer.js";
import { watchEarlier } from "./earlier.js";
import { watchForms } from "./forms.js";

watchForms(document);
watchCards(document);
watchComposer(document);
watchEarlier(document);
